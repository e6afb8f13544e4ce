"""The README's commands on bare machines: the cells of dev.py strangers, its parts, and two cells that really run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUITE = """
import pytest

def test_good(): ...
def test_bad(): assert 1 == 2
@pytest.mark.xdist_group("a.py 0")
@pytest.mark.parametrize("text", ["a blank"])
def test_a_name_so_long_that_the_summary_has_no_room_for_its_error(text): assert len(text) == 9
@pytest.fixture
def broken(): raise OSError("no disk: really")
def test_error(broken): ...
@pytest.mark.parametrize("n", range(3))
def test_skipped(n): pytest.skip("no engine: none answers")
@pytest.mark.skipif(True, reason="no clock")
def test_other(): ...
"""
README = (
    "Text.\n\n```bash\npython3 dev.py demo\n```\n\n```bash\npython3 dev.py test\n```\n\n```bash\npip install gem\n```\n"
)
NEEDS_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces")

# One group with the quick tests, because the scheduler of pytest-xdist gives out the largest groups first; a machine
# that is made at the end of a run would keep all other workers waiting.
pytestmark = [NEEDS_LINUX, pytest.mark.xdist_group("strangers")]


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script's parts lie beside it."""
    monkeypatch.syspath_prepend(str(ROOT))


def strangers(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "dev.py", "strangers", *arguments], capture_output=True, text=True, check=False
    )


def test_there_is_a_cell_for_each_combination() -> None:
    """Two users, two states of software, five folders, two loads: forty names, each with its four values."""
    from devtools.strangers.cells import AXES, all_cells

    names = [cell.name for cell in all_cells()]
    assert len(names) == len(set(names)) == 40
    assert "ordinary/everything/umlauts/loaded" in names
    assert all(value in AXES[axis] for name in names for axis, value in zip(AXES, name.split("/"), strict=True))


def test_the_folders_are_what_the_paths_are_called() -> None:
    """One has blanks and umlauts, one lies below the private folder, and no two are the same."""
    from devtools.strangers.cells import PRIVATE, all_cells

    folders = {cell.path: cell.folder for cell in all_cells()}
    assert len(set(folders.values())) == len(folders) == 5
    assert re.search(r"ü.* .*ü", folders["umlauts"])
    assert folders["private"].startswith(f"{PRIVATE}/")
    assert [name for name in ("home", "srv", "tmp") if folders[name].startswith(f"/{name}/")] == ["home", "srv", "tmp"]


@pytest.mark.parametrize(
    ("patterns", "axes", "count", "first"),
    [
        ([], {}, 40, "root/nothing/home/idle"),
        (["root/nothing/home/idle"], {}, 1, "root/nothing/home/idle"),
        (["ordinary/everything"], {}, 10, "ordinary/everything/home/idle"),
        (["*/loaded", "root/"], {}, 30, "root/nothing/home/idle"),
        ([], {"user": ["ordinary"], "path": ["srv", "tmp"]}, 8, "ordinary/nothing/srv/idle"),
        (["root"], {"load": ["loaded"], "software": []}, 10, "root/nothing/home/loaded"),
    ],
)
def test_cells_are_chosen_by_name_and_by_value(
    patterns: list[str], axes: dict[str, list[str]], count: int, first: str
) -> None:
    """A name, the beginning of a name or a pattern chooses cells, and values of the axes narrow the choice."""
    from devtools.strangers.cells import choose

    chosen = choose(patterns, axes)
    assert (len(chosen), chosen[0].name) == (count, first)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cells", "rot/nothing"], "no cell is called 'rot/nothing'"),
        (["--cells", "root/nothing", "--user", "ordinary"], "no cell has all of that"),
        (["--user", "admin"], "'root', 'ordinary'"),
        (["--only", "demo", "--", "-k", "x"], "which --only demo leaves out"),
        (["--only", "demo", "--command", "true"], "which --only demo leaves out"),
        (["--command", "true", "--", "-k", "x"], "write them into --command"),
    ],
)
def test_a_wrong_choice_is_an_error_that_says_what_there_is(arguments: list[str], said: str) -> None:
    """Nothing runs, and the message names the value or the remedy."""
    done = strangers(*arguments)
    assert done.returncode != 0
    assert said in done.stderr


def test_the_cells_are_listed_for_people_and_for_programs() -> None:
    """--list runs nothing; with --json it is what a workflow takes its jobs from."""
    names = strangers("--list").stdout.split()
    assert len(names) == 40
    assert json.loads(strangers("--list", "--json").stdout) == names


def test_the_commands_are_those_of_the_readme() -> None:
    """They are read from the README itself, in its order."""
    from devtools.strangers.cells import readme_commands

    assert readme_commands() == {"demo": "python3 dev.py demo", "test": "python3 dev.py test"}
    assert readme_commands(README.replace("python3", "python")) == {
        "demo": "python dev.py demo",
        "test": "python dev.py test",
    }


@pytest.mark.parametrize(
    "changed",
    [
        README.replace("dev.py demo", "dev.py setup"),
        README.replace("python3 dev.py test", "python3 dev.py setup\npython3 dev.py test"),
        README.replace("pip install gem", "python3 dev.py lint"),
        README.replace("pip install gem", "pip install gem\npython3 dev.py lint"),
        README.replace("python3 dev.py test", "python3 dev.py test -n 0"),
        "",
    ],
)
def test_a_readme_with_other_commands_is_an_error(changed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the cells run cannot differ from what the README says without anybody's noticing."""
    from devtools.strangers.cells import readme_commands

    with pytest.raises(SystemExit, match="README must have one block of one line"):
        readme_commands(changed)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_pytest_says_is_counted(tmp_path: Path, workers: str) -> None:
    """Failures and errors by test, skips by reason, with and without workers, after the output of other programs."""
    from devtools.strangers.outcome import PYTEST_REPORT, read_counts

    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "-n", workers, "--dist", "loadgroup", PYTEST_REPORT],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = read_counts(f"Syncing dependencies\n7 passed in 3.00s\n{done.stdout}dev.py: failed\n")
    assert counts is not None
    assert (counts.passed, counts.failed, counts.skipped) == (1, 3, 4)
    long = "test_suite.py::test_a_name_so_long_that_the_summary_has_no_room_for_its_error[a blank]"
    assert set(counts.failures) == {"test_suite.py::test_bad", "test_suite.py::test_error", long}
    assert counts.failures["test_suite.py::test_bad"] == "assert 1 == 2"
    assert "9" in counts.failures[long]
    assert "no disk: really" in counts.failures["test_suite.py::test_error"]
    assert counts.reasons == {"no engine: none answers": 3, "no clock": 1}
    assert read_counts("dev.py: there is no pip") is None


def test_the_table_says_what_was_green_what_was_red_and_what_was_not_made() -> None:
    """Each cell has a line; the failing tests, their logs and the reasons of skips follow."""
    from devtools.strangers.outcome import CellOutcome, CommandOutcome, TestCounts, format_table

    demo = CommandOutcome("python3 dev.py demo", 0, 19.4, 12.0, "demo.log")
    good = TestCounts(10, 0, 4, {}, {"no engine": 3, "no clock": 1})
    bad = TestCounts(9, 1, 3, {"tests/test_a.py::test_b": "assert 0"}, {"no engine": 3})
    tests = [
        CommandOutcome("python3 dev.py test", code, 61.0, 99.0, "test.log", counts)
        for code, counts in ((0, good), (1, bad))
    ]
    outcomes = [
        CellOutcome("root/nothing/home/idle", {"demo": demo, "test": tests[0]}),
        CellOutcome("root/nothing/srv/idle", {"demo": demo, "test": tests[1]}),
        CellOutcome("root/everything/srv/idle", not_made="there is no debootstrap"),
    ]
    assert [outcome.green for outcome in outcomes] == [True, False, False]
    lines = format_table(outcomes).splitlines()
    assert lines[1].split() == ["root/nothing/home/idle", "19", "s", "61", "s", "10", "0", "4", "green"]
    assert lines[2].endswith("9       1       3        RED (test: 1 failed)")
    assert lines[3].endswith("NOT MADE: there is no debootstrap")
    assert "  tests/test_a.py::test_b: assert 0" in lines
    assert "     6  no engine" in lines


@pytest.mark.parametrize(
    ("exit_code", "passed", "failed", "problem"),
    [
        (0, 5, 0, None),
        (1, 5, 2, "2 failed"),
        (0, 5, 1, "1 failed"),
        (3, 5, 0, "exit code 3"),
        (None, 5, 0, "not ended after 60 s"),
        (0, 0, 0, "no test passed"),
    ],
)
def test_a_command_is_green_if_it_says_so_and_tests_passed(
    exit_code: int | None, passed: int, failed: int, problem: str | None
) -> None:
    """An exit code of 0 without any test is no pass, nor is one that hides a failure."""
    from devtools.strangers.outcome import CommandOutcome, TestCounts

    done = CommandOutcome("python3 dev.py test", exit_code, 60.0, 1.0, "log", TestCounts(passed, failed))
    assert done.problem == problem


def test_a_machine_is_handed_the_settings_of_package_indexes_alone(tmp_path: Path) -> None:
    """Its pip.conf has indexes and certificates, and it sees the files that these name, but nobody's other settings."""
    from devtools.strangers.machine_settings import local_paths, pip_configuration

    index, wheels, bundle = tmp_path / "index" / "simple", tmp_path / "wheels", tmp_path / "ca.crt"
    index.mkdir(parents=True)
    wheels.mkdir()
    bundle.touch()
    settings = {
        "extra-index-url": f"https://packages.example/simple {index.as_uri()}",
        "find-links": f"{wheels} {tmp_path / 'gone'}",
        "cert": str(bundle),
        "user": "true",
        "target": str(tmp_path),
    }
    assert pip_configuration(settings) == (
        f"[global]\ncert = {bundle}\n"
        f"extra-index-url = https://packages.example/simple\n    {index.as_uri()}\n"
        f"find-links = {wheels}\n    {tmp_path / 'gone'}\n"
    )
    # The pages of an index link to files beside it.
    assert local_paths(settings, {"SSL_CERT_FILE": str(bundle)}) == sorted([bundle, index.parent, wheels])


def test_a_checkout_has_the_history_and_the_changes_of_the_working_tree(tmp_path: Path, with_git: None) -> None:
    """Changed, new and deleted files are as they are in the working tree; ignored files stay behind."""
    from devtools.strangers.checkout import pack_checkout

    def git(*arguments: str, folder: Path = tmp_path / "work") -> str:
        author = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        return subprocess.run(
            ["git", *author, *arguments], cwd=folder, capture_output=True, text=True, check=True
        ).stdout

    work = tmp_path / "work"
    work.mkdir()
    git("init", "--quiet")
    for name, text in {"kept": "1", "changed": "1", "deleted": "1", ".gitignore": "ignored\n"}.items():
        (work / name).write_text(text, encoding="utf-8")
    git("add", "-A")
    git("commit", "--quiet", "-m", "first")
    (work / "changed").write_text("2", encoding="utf-8")
    (work / "deleted").unlink()
    (work / "new ü").touch()
    (work / "ignored").touch()
    pack_checkout(tmp_path / "checkout.tar", work)
    with tarfile.open(tmp_path / "checkout.tar") as archive:
        archive.extractall(tmp_path / "theirs")
    theirs = tmp_path / "theirs"
    assert {path.name for path in theirs.iterdir()} == {".git", ".gitignore", "kept", "changed", "new ü"}
    assert (theirs / "changed").read_text(encoding="utf-8") == "2"
    assert git("log", "--format=%s", folder=theirs).split() == ["first"]
    assert git("status", "--porcelain", folder=theirs).split("\n")[:2] == [" M changed", " D deleted"]


def test_a_folder_that_is_no_checkout_is_an_error(tmp_path: Path) -> None:
    """The message says which folder."""
    from devtools.strangers.checkout import pack_checkout

    with pytest.raises(SystemExit, match=f"{re.escape(str(tmp_path))} is no checkout of git"):
        pack_checkout(tmp_path / "checkout.tar", tmp_path)


def test_a_neighbour_is_busy_and_leaves_no_process(tmp_path: Path) -> None:
    """As many processes as asked for use the processors outside of the cell, and end with it."""
    from devtools.strangers.machine import busy_neighbour

    def children() -> set[str]:
        return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="utf-8").split())

    before = children()
    with busy_neighbour(2):
        started = children() - before
        assert len(started) == 2
    assert not children() & started


def test_a_cell_that_cannot_be_made_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where machines cannot be made, the table says why and the exit code is 1."""
    from devtools.strangers import command

    monkeypatch.setattr(command.os, "geteuid", lambda: 0)
    monkeypatch.setattr(command, "missing_rights", lambda cache: "no namespaces here")
    assert command.strangers(["--cells", "root/nothing/srv", "--cache", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert shown.count("NOT MADE: no namespaces here") == 2
    (outcomes,) = tmp_path.glob("logs/*/outcomes.json")
    assert not any(cell["green"] for cell in json.loads(outcomes.read_text(encoding="utf-8"))["cells"])


def test_the_command_that_a_cell_runs_is_the_readmes_with_a_report() -> None:
    """Arguments for pytest follow the README's second command; another command stands in its place."""
    from devtools.strangers.command import _commands

    assert _commands(None, None, ["-k", "a b"]) == {
        "demo": "python3 dev.py demo",
        "test": "python3 dev.py test -rfEs -k 'a b'",
    }
    assert _commands(None, "make check", []) == {"demo": "python3 dev.py demo", "test": "make check"}
    assert _commands("demo", None, []) == {"demo": "python3 dev.py demo"}


@pytest.fixture(scope="module")
def machines() -> None:
    """Skip the tests of real machines where none can be made, or where the first one would take minutes."""
    from devtools.strangers.command import CACHE
    from devtools.strangers.layers import LayerStore
    from devtools.strangers.machine import missing_rights

    CACHE.mkdir(parents=True, exist_ok=True)
    reason = missing_rights(CACHE)
    if reason is None and LayerStore(CACHE, CACHE).debian() is None:
        reason = "there is no root file system of Debian; .ci/machine makes one, and so does dev.py strangers"
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.usefixtures("machines")
@pytest.mark.slow(
    reason="only a machine on which nothing is installed shows what the README's command takes for granted"
)
def test_the_readmes_demo_is_green_where_nothing_is_installed() -> None:
    """From a bare Debian with Python and pip: for root in a private folder, for a user below blanks and umlauts."""
    cells = ["root/nothing/private/idle", "ordinary/nothing/umlauts/idle"]
    done = strangers("--cells", *cells, "--only", "demo", "--json")  # together, so that the checkout is packed once
    outcomes = json.loads(done.stdout)["cells"]
    assert [outcome["cell"] for outcome in outcomes] == cells
    for outcome in outcomes:
        log = outcome["commands"].get("demo", {}).get("log")
        assert outcome["green"], f"{outcome}\n{Path(log).read_text(encoding='utf-8') if log else done.stderr}"
    assert done.returncode == 0


@pytest.mark.nightly
@pytest.mark.usefixtures("machines")
def test_what_a_machine_is() -> None:
    """A user of no other group who cannot become root, processes, a host name and shared memory of its own."""
    checks = [
        'test "$(id -u) $(id -un) $(id -Gn) $HOME $USER" = "1000 stranger stranger /home/stranger stranger"',
        "test ! -w /etc/passwd && ! command -v sudo git cc make",
        'test "$PWD" = /opt/private/gem && test "$(stat -c "%a %U" /opt/private)" = "700 stranger"',
        'test "$(hostname)" = stranger && test "$(echo /proc/[0-9]* | wc -w)" -lt 9',
        "touch /dev/shm/x /tmp/x ~/.cache/uv/x && rm ~/.cache/uv/x",
        "unshare --user --map-root-user true",
        "python3 -c 'import os, pty; assert pty.spawn([\"true\"]) == 0'",
    ]
    cell = "ordinary/nothing/private/idle"
    done = strangers("--cells", cell, "--only", "test", "--command", " && ".join(checks), "--json")
    (outcome,) = json.loads(done.stdout)["cells"]
    assert outcome["green"], Path(outcome["commands"]["test"]["log"]).read_text(encoding="utf-8")


@pytest.mark.usefixtures("machines")
@pytest.mark.nightly
def test_the_readmes_demo_is_green_in_every_cell() -> None:
    """The whole matrix, with the first command alone: the workflow of the night runs both."""
    done = strangers("--only", "demo", "--json")
    outcomes = json.loads(done.stdout)["cells"]
    assert len(outcomes) == 40
    assert [outcome for outcome in outcomes if not outcome["green"]] == []
