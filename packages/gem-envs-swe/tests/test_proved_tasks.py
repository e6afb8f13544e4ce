"""Tasks of a small package are proved by its tests, and told by what these show."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from local_suites import LocalSuites
from small_package import FILES

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.baseline import Baseline, PackageTree, measure_baseline
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.kinds import MAKERS
from gem_envs_swe.making.proving import RejectedCandidate, TaskProof, prove
from gem_envs_swe.making.statements import gives_away, statement_of
from gem_envs_swe.making.suites import TEST_ARGUMENTS, FailedTest, SuiteRun
from gem_envs_swe.row import KINDS

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches of the suites here"),
    pytest.mark.skipif(sys.platform != "linux", reason="the program of the containers needs Linux"),
    pytest.mark.xdist_group("small package of gem-envs-swe"),
]

Package = tuple[Baseline, LocalSuites]
DEPENDENT = {
    "tests/test_early.py": "import shelfmark\n\nshelfmark.EARLY = True\n",
    "tests/test_late.py": "import shelfmark\n\n\ndef test_late():\n    assert shelfmark.EARLY\n",
}
UNSTEADY_SUM = "import os; used += width * (os.environ['PYTHONHASHSEED'] == '1')"
ASKS_FOR_DOCTESTS = "def pytest_configure(config):\n    assert not config.option.doctestmodules\n"
OTHER_NAME = "from p import f\n\n\ndef test_f():\n    assert f() == 1\n"
OUTDATED = "def pytest_collection_modifyitems(session):\n    session.no_such_attribute\n"
SEES_IMPORTS = """
import sys

import p


def test_f():
    assert p.f() == 1
    assert "colorsys" not in sys.modules
    import colorsys
"""
BEGINS_A_THREAD = """
import lively
import p


def test_f():
    assert p.f() == 1
    assert lively.THREAD.is_alive()
"""
LIVELY = """
import threading

THREAD = threading.Thread(target=threading.Event().wait, daemon=True)
THREAD.start()
"""
UNSTEADY = """
import os
import warnings
from pathlib import Path

import pytest


def test_of_a_hash_seed():
    assert os.environ["PYTHONHASHSEED"] != "1"


@pytest.mark.skip(reason="never")
def test_never():
    raise AssertionError


def test_warns():
    warnings.warn("a newer library warns", stacklevel=1)


def test_leaves_a_file():
    assert not Path("left").exists()
    Path("left").write_text("x")


@pytest.mark.parametrize("text", ["a" * 900, "b" * 10_000_000, "c" * 10_000_000])
def test_names(text):
    assert text


def test_writes_to_everything():
    for descriptor in range(3, 30):
        try:
            os.write(descriptor, b"not an answer\\n")
        except OSError:
            pass
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write a tree."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    """The small package, and a test that needs what another file does, after the runs of its tests."""
    tree = written(tmp_path_factory.mktemp("small") / "tree", {**FILES, **DEPENDENT})
    with LocalSuites(tree, tmp_path_factory.mktemp("runs")) as runner:
        yield measure_baseline(PackageTree(tree), runner, 0, 120.0), runner


def bug(baseline: Baseline, before: str, after: str, path: str = "shelfmark/shelves.py") -> Candidate:
    """Return the change of a text that occurs once."""
    text = baseline.tree.files[path]
    assert text.count(before) == 1
    line = text[: text.index(before)].count("\n") + 1
    source = baseline.tree.source(path)
    assert source is not None
    definition = source.definition_at(line)
    assert definition is not None
    return Candidate(
        "bug",
        1,
        "planted",
        {path: text.replace(before, after)},
        {path: frozenset({line})},
        (f"{path}:{definition.name}",),
    )


@pytest.fixture(scope="module")
def proof(package: Package) -> TaskProof:
    """The proof of a wrong boundary."""
    return prove(bug(package[0], "if used >= length:", "if used > length + 1:"), *package, seed=0)


def test_the_baseline_knows_what_each_test_runs(package: Package) -> None:
    """All tests are stable; a line is covered by the tests that run it, and the line of a ``def`` by all."""
    baseline = package[0]
    assert len(baseline.stable) == 15
    assert baseline.left_out == {"tests/test_late.py::test_late": "depends on other tests"}
    assert baseline.source_files == ["shelfmark/marks.py", "shelfmark/shelves.py"]
    refusal = bug(baseline, '"a book has a width"', '"no"').lines
    assert baseline.covering(refusal) == {"tests/test_shelves.py::test_width"}
    assert baseline.covering(bug(baseline, "def free_places(widths, length)", "def x()").lines) == baseline.stable


def test_runs_find_the_libraries_imported(package: Package) -> None:
    """What the first run imported from outside of the tree is imported before the others."""
    assert {"unittest", "pytest"} < set(package[1].modules)
    assert not [name for name in package[1].modules if name.startswith(("shelfmark", "test_"))]


def test_no_run_takes_the_byte_code_of_another(package: Package) -> None:
    """Two texts of one length, each run by another process, are two programs."""
    path, test = "shelfmark/shelves.py", "tests/test_shelves.py::test_free_places"
    text = package[0].tree.files[path]
    outcomes = []
    with LocalSuites(package[0].tree.folder, package[1].scratch / "byte-code") as runner:
        for hash_seed, change in enumerate(("used += width", "used -= width")):
            write = {path: text.replace("used += width", change)}
            outcomes.append(runner.run(tests={test}, write=write, hash_seed=hash_seed).outcomes[test])
    assert outcomes == ["passed", "failed"]


def test_a_bug_is_proved(proof: TaskProof) -> None:
    """Exactly the tests fail that the change breaks; the others are to pass; the patches lead there and back."""
    assert proof.failing == ("tests/test_shelves.py::test_overfull_shelf",)
    assert len(proof.passing) == 14
    assert "-    if used >= length:" in proof.break_patch
    assert "+    if used >= length:" in proof.patch
    assert "+def test_overfull_shelf():" in proof.test_patch
    assert "test_overfull_shelf" not in proof.visible["tests/test_shelves.py"]
    failure = proof.run.failures["tests/test_shelves.py::test_overfull_shelf"]
    line = FILES["tests/test_shelves.py"].splitlines().index("    assert free_places([5, 6], 10) == 0") + 1
    assert (failure.type, failure.frames) == ("AssertionError", (("/code/repo/tests/test_shelves.py", line),))


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("if used >= length:", "if length <= used:", "no test notices it"),
        ('"""Shelves with places."""', "import no_such_module", "cannot be collected"),
        pytest.param("used += width", "while True: pass", "do not end", marks=pytest.mark.nightly),
        pytest.param("used += width", "import os; os._exit(0)", "do not end", marks=pytest.mark.nightly),
        pytest.param("used += width", UNSTEADY_SUM, "flaky", marks=pytest.mark.nightly),
    ],
)
def test_other_changes_are_rejected(before: str, after: str, why: str, package: Package) -> None:
    """A change that nobody notices, or not always, that never ends, or ends the process or the import is no task."""
    candidate = bug(package[0], "used += width", "used += width")
    text = package[0].tree.files["shelfmark/shelves.py"]
    candidate = replace(candidate, write={"shelfmark/shelves.py": text.replace(before, after, 1)})
    with pytest.raises(RejectedCandidate, match=why):
        prove(candidate, *package, seed=0)


def test_a_feature_that_nothing_replaces_is_rejected(package: Package) -> None:
    """Where a function that does nothing passes the tests, these do not ask for the feature."""
    candidate = bug(package[0], "if used >= length:", "if used > length + 1:")
    own = package[0].tree.files["shelfmark/shelves.py"]
    with pytest.raises(RejectedCandidate, match="does nothing passes"):
        prove(replace(candidate, idle={"shelfmark/shelves.py": own}), *package, seed=0)
    assert prove(replace(candidate, idle=candidate.write), *package, seed=0).failing


@pytest.mark.nightly
def test_changes_that_hide_each_other_are_rejected(package: Package) -> None:
    """Two changes of which one fails no test of its own are no task of two changes."""
    first = bug(package[0], "if used >= length:", "if used > length + 1:")
    both = replace(first, parts=(first.write, first.write))
    with pytest.raises(RejectedCandidate, match="cannot be told"):
        prove(both, *package, seed=0)


@pytest.mark.nightly
def test_a_change_that_a_test_of_other_code_notices_is_rejected(package: Package) -> None:
    """What fails although it runs no changed line is not understood, and so no task."""
    path = "shelfmark/marks.py"
    lines = bug(package[0], "if volume is None:", "if True:", path).lines
    hidden = {"tests/test_x.py": "def test_x():\n    assert 0\n"}
    candidate = replace(
        bug(package[0], "if used >= length:", "if used > length + 1:"),
        lines=lines, hidden=hidden, hidden_tests=("tests/test_x.py::test_x",),
    )  # fmt: skip
    with pytest.raises(RejectedCandidate, match="does not run the code"):
        prove(candidate, *package, seed=0)


def test_the_statement_says_what_the_tests_show(package: Package, proof: TaskProof) -> None:
    """It has the call, the value and the expectation, none of the diff, and other words for other seeds."""
    texts = [statement_of(proof, package[0], seed) for seed in range(6)]
    for text in texts:
        assert "assert free_places([5, 6], 10) == 0" in text
        assert "AssertionError: assert -1 == 0" in text
        assert "used" not in text.replace("used to work", "")
        assert not gives_away(text, proof, package[0])
    assert len(set(texts)) > 3


def failed_by_hand(folder: Path, assertion: str, kind: str) -> tuple[TaskProof, Baseline]:
    """Return a proof, and its baseline, whose one test fails in the line of an assertion; nothing is run."""
    source = "def f(x):\n    return x\n\n\nclass K:\n    def __init__(self):\n        self.k(1)\n\n    "
    source += "def k(self, x):\n        return x\n\n\ndef h(x):\n    return x\n\n\ndef i(x):\n    return x\n"
    test = "test_p.py::test_g[1]"
    head = f'import p\nimport pytest\n\n\n@pytest.mark.parametrize("g", [p.f(1)])\ndef test_g(g):\n    {assertion}\n'
    tree = PackageTree(written(folder / "tree", {"p.py": source, "test_p.py": head}))
    line = next(number for number, text in enumerate(head.splitlines(), 1) if "assert" in text)
    failure = FailedTest(type="AssertionError", message="no", frames=(("/code/repo/test_p.py", line),))
    run = SuiteRun(
        outcomes={test: "failed"}, failures={test: failure}, places={test: ("/code/repo/test_p.py", 5, "test_g")}
    )
    baseline = Baseline(tree, run, frozenset({test}), {})
    candidate = Candidate(kind, 2, "planted", {"p.py": ""}, {}, ("p.py:f",))
    return TaskProof(candidate, (test,), (), (frozenset({test}),), run, "", "", "", {}), baseline


@pytest.mark.parametrize(("kind", "shown"), [("bug", False), ("feature", True)])
def test_a_feature_is_shown_by_whole_tests(kind: str, shown: bool, tmp_path: Path) -> None:
    """What a function is to do stands after its first call, where a defect shows."""
    proof, baseline = failed_by_hand(tmp_path, "assert p.f(1) == g\n    p.h(2)", kind)
    statement = statement_of(proof, baseline, 0)
    assert "assert p.f(1) == g" in statement
    assert ("p.h(2)" in statement) == shown


def test_a_statement_says_nothing_of_the_options_of_pytest(tmp_path: Path) -> None:
    """Its hints at more output are left out of messages, which end where the comparison does."""
    proof, baseline = failed_by_hand(tmp_path, "assert p.f(1) == g", "bug")
    said = "assert [1] == [2]\n  \n  At index 0 diff: 1 != 2\n  Omitting 3 identical items, use -vv to show\n  "
    failure = FailedTest(type="AssertionError", message=f"{said}Use -v to get more diff")
    run = proof.run.model_copy(update={"failures": dict.fromkeys(proof.failing, failure)})
    statement = statement_of(replace(proof, run=run), baseline, 0)
    assert "At index 0 diff: 1 != 2\n  Omitting 3 identical items\n```" in statement


@pytest.mark.parametrize(
    ("failing", "shown"),
    [
        (1, "[1]\n```"),
        (3, "[1]\n# and with [2]\n# and with [3]\n```"),
        (9, "[1]\n" + "".join(f"# and with [{number}]\n" for number in range(2, 9)) + "# and with 1 more\n```"),
    ],
)
def test_a_statement_lists_the_parameters_with_which_a_test_fails(failing: int, shown: str, tmp_path: Path) -> None:
    """They are a part of what is asked for; the first eight are named, and the others counted."""
    proof, baseline = failed_by_hand(tmp_path, "assert p.f(1) == g", "feature")
    tests = (*proof.failing, *(f"test_p.py::test_g[{number}]" for number in range(2, failing + 1)))
    run = proof.run.model_copy(update={"places": dict.fromkeys(tests, proof.run.places[proof.failing[0]])})
    proof = replace(proof, failing=tests, groups=(frozenset(tests),))
    assert f"# with the parameters {shown}" in statement_of(proof, replace(baseline, first=run), 0)


@pytest.mark.parametrize(("failing", "more"), [(1, False), (9, True)])
def test_a_feature_is_said_to_have_more_tests_only_if_it_has(failing: int, more: bool, tmp_path: Path) -> None:
    """In whichever words."""
    proof, baseline = failed_by_hand(tmp_path, "assert p.f(1) == g", "feature")
    tests = (*proof.failing, *(f"test_p.py::test_g[{number}]" for number in range(2, failing + 1)))
    run = proof.run.model_copy(update={"places": dict.fromkeys(tests, proof.run.places[proof.failing[0]])})
    texts = [statement_of(replace(proof, failing=tests), replace(baseline, first=run), seed) for seed in range(9)]
    assert [("more of its kind" in text) or (f"{failing} tests ask" in text) for text in texts] == [more] * 9


@pytest.mark.parametrize(
    ("assertion", "named"),
    [
        ("assert list(map(p.f, [1])) == [g]", "test_g"),
        ("assert p.K().k(map(p.f, [1])) == [g]", "k"),
        ("p.f(2)\n    assert g == p.f(1)", "f"),
        ("p.h(1)\n    assert g == list(p.i(1))\n    p.h(1)", "i"),
    ],
)
def test_the_title_names_what_the_test_calls(assertion: str, named: str, tmp_path: Path) -> None:
    """That is the last call before the failure, never the changed function that no test calls, and else the test."""
    proof, baseline = failed_by_hand(tmp_path, assertion, "bug")
    for seed in range(6):
        title = statement_of(proof, baseline, seed).splitlines()[0]
        assert f"`{named}`" in title, title


def test_a_statement_with_the_solution_is_found(package: Package, proof: TaskProof) -> None:
    """A line of the solution that the agent's tree has not is found in a statement."""
    assert gives_away("Write\n\n    if used >= length:\n", proof, package[0])
    assert not gives_away("Write\n\n    return length - used\n", proof, package[0])


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.nightly) for kind in MAKERS])
def test_every_kind_gives_tasks(kind: str, package: Package) -> None:
    """Of the first candidates of each kind some are proved, and their statements give nothing away."""
    assert kind in KINDS
    made = 0
    for candidate in MAKERS[kind](package[0], random.Random(1)):
        try:
            proof = prove(candidate, *package, seed=1, whole=True)
        except RejectedCandidate:
            continue
        statement = statement_of(proof, package[0], 1)
        assert not gives_away(statement, proof, package[0])
        assert set(proof.failing).isdisjoint(proof.passing)
        made += 1
        if made == 3:
            break
    assert made


CANDIDATES = """
import hashlib, itertools, json, random, sys
from pathlib import Path
from gem_envs_swe.making.baseline import Baseline, PackageTree
from gem_envs_swe.making.kinds import MAKERS
from gem_envs_swe.making.suites import SuiteRun

run = SuiteRun.model_validate_json(sys.stdin.read())
baseline = Baseline(PackageTree(Path(sys.argv[1])), run, frozenset(run.named("passed")), {})
for kind, maker in MAKERS.items():
    made = list(itertools.islice(maker(baseline, random.Random(7)), 50))
    known = [(each.level, each.write, each.hidden, each.hidden_tests, each.asked, each.solution) for each in made]
    print(kind, len(made), hashlib.sha256(json.dumps(known).encode()).hexdigest())
"""


@pytest.mark.nightly
def test_candidates_depend_on_the_seed_alone(package: Package) -> None:
    """Every kind but one, for which nothing can be slowed down, has the same candidates whatever the hash seed."""
    outputs = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", CANDIDATES, str(package[0].tree.folder)], input=package[0].first.model_dump_json(),
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.add(done.stdout)
    (output,) = outputs
    kinds = MAKERS.keys() - {"performance"}
    assert {line.split()[0] for line in output.splitlines() if line.split()[1] != "0"} == kinds


@pytest.mark.nightly
def test_unsteady_tests_are_left_out(tmp_path: Path) -> None:
    """Tests that fail at one hash seed, are skipped, have endless names, leave a file or cannot be imported are alone.

    Neither do the package's options of pytest, warnings, of which it makes errors, and examples in text files.
    """
    files = {**FILES, "tests/test_unsteady.py": UNSTEADY, "tests/test_lacking.py": "import no_such_module\n"}
    files |= {"tests/test_notes.txt": ">>> 1\n2\n", "conftest.py": ASKS_FOR_DOCTESTS}
    files["pytest.ini"] = "[pytest]\nfilterwarnings = error\naddopts = --no-such-option\n"
    tree = written(tmp_path / "tree", files)
    (tmp_path / "runs").mkdir()
    with LocalSuites(tree, tmp_path / "runs") as runner:
        baseline = measure_baseline(PackageTree(tree), runner, 0, 120.0)
    assert baseline.left_out == {
        "tests/test_unsteady.py::test_of_a_hash_seed": "flaky",
        "tests/test_unsteady.py::test_never": "skipped",
        "tests/test_lacking.py": "cannot be collected",
        **{
            f"{'tests/test_unsteady.py::test_names[':{letter}<1000}… (10,000,036 characters)": "too long a name"
            for letter in "bc"
        },
    }
    assert f"tests/test_unsteady.py::test_names[{'a' * 900}]" in baseline.stable
    assert {f"tests/test_unsteady.py::test_{name}" for name in ("leaves_a_file", "warns")} < baseline.stable


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "kept"), [(SEES_IMPORTS, False), (BEGINS_A_THREAD, True)], ids=["sees imports", "begins a thread"]
)
def test_libraries_are_imported_by_each_run_where_that_matters(text: str, kept: bool, tmp_path: Path) -> None:
    """Tests that see what is imported pass all the same, and a library that begins a thread begins it in the run."""
    tree = written(tmp_path / "tree", {"p.py": "def f():\n    return 1\n", "test_p.py": text})
    library = written(tmp_path / "library", {"lively.py": LIVELY})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(library))
        with LocalSuites(tree, tmp_path / "runs") as runner:
            baseline = measure_baseline(PackageTree(tree), runner, 0, 120.0)
            assert bool(runner.modules) == kept
    assert baseline.left_out == {}


@pytest.mark.nightly
def test_tests_are_found_by_other_names(tmp_path: Path) -> None:
    """A package whose tests are in ``tests.py`` has tests."""
    tree = written(tmp_path / "tree", {"p.py": "def f():\n    return 1\n", "tests.py": OTHER_NAME})
    (tmp_path / "runs").mkdir()
    with LocalSuites(tree, tmp_path / "runs") as runner:
        baseline = measure_baseline(PackageTree(tree), runner, 0, 120.0)
    assert baseline.stable == {"tests.py::test_f"}
    assert baseline.source_files == ["p.py"]


@pytest.mark.nightly
def test_a_plugin_that_keeps_all_tests_from_running_is_left_out(tmp_path: Path) -> None:
    """The arguments of every run, and of the set, then say so; another plugin stays."""
    tree = written(tmp_path / "tree", {"p.py": "def f():\n    return 1\n", "test_p.py": OTHER_NAME})
    library = written(tmp_path / "library", {"outdated.py": OUTDATED, "useful.py": "", "harmless.py": ""})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(library))
        patch.setenv("PYTEST_PLUGINS", "useful,outdated")
        with LocalSuites(tree, tmp_path / "runs") as runner:
            baseline = measure_baseline(PackageTree(tree), runner, 0, 120.0)
    assert baseline.stable == {"test_p.py::test_f"}
    assert baseline.arguments == (*TEST_ARGUMENTS, "-p", "no:outdated")


@pytest.mark.nightly
def test_a_package_without_tests_is_refused(tmp_path: Path) -> None:
    """The message says what pytest found."""
    tree = written(tmp_path / "tree", {"x.py": ""})
    (tmp_path / "runs").mkdir()
    why = r"pytest finds no test in the source archive: no tests ran in [0-9.]+s$"
    with LocalSuites(tree, tmp_path / "runs") as runner, pytest.raises(SweError, match=why):
        measure_baseline(PackageTree(tree), runner, 0, 120.0)
