"""The pytest plugin, each time in a pytest session of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from gem import discovery
from gem_testing import CLAUSES, EnvUnderTest
from gem_testing.conformance import clauses_for_each

pytest_plugins = ["pytester"]

ENVIRONMENTS = """
import gem

class Sound(gem.Env):
    turns = 2

    def reset(self, seed=None):
        super().reset(seed=seed)
        self.left = self.turns
        return f"Guess {self.rng.random()}", {}

    def step(self, action):
        if not self.left:
            raise gem.errors.EpisodeFinishedError("the episode is over; call reset()")
        self.left -= 1
        return f"{self.rng.random()}", 0.0, not self.left, False, {}

class Broken(Sound):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, "much", *rest
"""

MANIFEST = """
schema = 1

[[environment]]
id = "guess:Sound-v0"
entry_point = "guess_envs:Sound"
description = "Guess."
[environment.exempt]
"state.json" = "it has no state to speak of"
[environment.variants]
other = {}

[[environment]]
id = "guess:Broken-v0"
entry_point = "guess_envs:Broken"
description = "Guess."
"""


class Run(NamedTuple):
    """The end of one pytest session."""

    returncode: int
    stdout: str


class Project:
    """A folder with tests, in which pytest runs with the plugin and a package of environments installed."""

    def __init__(self, pytester: pytest.Pytester, installed: Path) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        self.installed = installed
        self.write("pytest.ini", "[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def pytest(self, *arguments: str) -> Run:
        """Run pytest in this process."""
        discovery.clear_caches()
        done = self.pytester.runpytest_inprocess("-p", "no:randomly", *arguments)
        return Run(int(done.ret), str(done.stdout))

    def pytest_alone(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pytest in a process of its own, whose variables are as if this suite did not run in pytest."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_CORE"))}
        path = os.pathsep.join(filter(None, (str(self.installed), environ.get("PYTHONPATH"))))
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:randomly", *arguments],
            cwd=self.folder,
            env={**environ, "PYTHONPATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )

    def outcomes(self, *arguments: str) -> dict[str, int]:
        """Run pytest and return how many tests passed, failed and so on."""
        report = self.folder / "report.xml"
        done = self.pytest(f"--junitxml={report}", *arguments)
        assert report.exists(), done.stdout
        (suite,) = ElementTree.parse(report).getroot()
        counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "skipped", "errors")}
        assert (done.returncode == 0) == (not counts["failures"] + counts["errors"]), done.stdout
        return counts


@pytest.fixture
def project(site: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("COLUMNS", "200")
    # The backport importlib_metadata replaces the standard library's finder when it is imported. Within a session
    # that pytester undoes afterwards, that would leave no finder at all.
    discovery.namespaces()
    site.add(
        "guess-envs",
        {"guess": "guess_envs"},
        {"guess_envs/__init__.py": ENVIRONMENTS, "guess_envs/environments.toml": MANIFEST},
    )
    return Project(pytester, site.folder)


GEM_MODULES = """
import sys

def test_nothing_is_loaded():
    loaded = {name for name in sys.modules if name.partition(".")[0] in ("gem", "gem_testing")}
    assert loaded == {"gem", "gem.lazy", "gem.migration", "gem_testing", "gem_testing.pytest_plugin"}
    assert not {"numpy", "pydantic", "click", "rich"} & set(sys.modules)
"""


@pytest.mark.slow
def test_a_session_that_does_not_use_it_pays_nothing(project: Project) -> None:
    """The plugin is loaded in every session; it brings the two light modules of gem, and says nothing."""
    project.write("test_modules.py", GEM_MODULES)
    done = project.pytest_alone()
    assert "1 passed" in done.stdout, done.stdout
    assert "gem" not in done.stdout.partition("collected")[2]


@pytest.mark.nightly
def test_it_can_be_switched_off(project: Project) -> None:
    """With -p no:gem there is neither option nor fixture, nor is gem imported."""
    project.write("test_modules.py", "import sys\ndef test_it():\n    assert 'gem' not in sys.modules\n")
    assert "1 passed" in project.pytest_alone("-p", "no:gem").stdout
    assert "unrecognized arguments: --gem-check" in project.pytest_alone("-p", "no:gem", "--gem-check", "guess").stderr


def test_check_adds_a_test_for_each_environment_and_clause(project: Project) -> None:
    """Without any test file, the ids are gem-check::ID::CLAUSE; targets that overlap add nothing twice."""
    done = project.pytest(
        "--collect-only", "-q", "--gem-check", "guess:Sound-v0", "--gem-check", "guess", "--gem-check", "guess"
    )
    found = done.stdout.split("\n\n")[0].splitlines()
    ids = ["guess:Sound-v0", "guess:Sound-v0-other", "guess:Broken-v0"]
    assert found == [f"gem-check::{env_id}::{clause}" for env_id in ids for clause in CLAUSES]
    assert f"{3 * len(CLAUSES)} tests collected" in done.stdout


def test_a_violation_is_its_sentence_alone(project: Project) -> None:
    """The failure has a headline and the sentence, and nothing of the kit's code."""
    done = project.pytest("--gem-check", "guess:Broken-v0", "-k", "contract.reward")
    assert done.returncode == 1
    lines = done.stdout.partition("FAILURES")[2].splitlines()
    assert "guess:Broken-v0 contract.reward" in lines[1]
    assert "'much'" in lines[2]
    assert lines[3].startswith("=")
    assert "FAILED gem-check::guess:Broken-v0::contract.reward" in done.stdout
    assert ".py" not in "\n".join(lines)


def test_what_is_not_tested_is_skipped_and_listed_once(project: Project) -> None:
    """Exemptions and untested clauses are skips that say why, and one line each in a section of the summary."""
    wanted = ("--gem-check", "guess", "-k", "Sound and (state.json or reward.range or contract.step)")
    done = project.pytest(*wanted, "-rs")
    assert done.returncode == 0
    assert "2 passed, 4 skipped" in done.stdout
    section = done.stdout.partition("clauses that were not tested")[2].partition("\n=")[0].splitlines()[1:]
    rewards, state = section
    assert rewards.startswith("reward.range: not tested: ")
    assert "; " in rewards
    assert rewards.endswith("(guess:Sound-v0, guess:Sound-v0-other)")
    assert state == "state.json: exempt: it has no state to speak of (guess:Sound-v0, guess:Sound-v0-other)"
    assert "SKIPPED [2]" in done.stdout
    assert ": exempt: it has no state to speak of" in done.stdout


@pytest.mark.nightly
def test_the_summary_reaches_the_terminal_from_workers(project: Project) -> None:
    """With pytest-xdist, each worker collects the same, and the section is printed once."""
    pytest.importorskip("xdist")
    done = project.pytest_alone("-n", "2", "--gem-check", "guess", "-k", "Sound and (state.json or contract.step)")
    assert "2 passed, 2 skipped" in done.stdout, done.stdout
    assert done.stdout.count("clauses that were not tested") == 1
    assert done.stdout.count("exempt: it has no state to speak of (guess:Sound-v0, guess:Sound-v0-other)") == 1


def test_check_goes_beside_the_project_s_own_tests(project: Project) -> None:
    """Arguments, -k and -m select among both; the marker is known under --strict-markers."""
    project.write("test_mine.py", "def test_own(): pass\ndef test_other(): pass\n")
    clause = ("--gem-check", "guess:Sound-v0", "-k", "contract.step or own")
    assert project.outcomes(*clause)["tests"] == 2
    assert project.outcomes(*clause, "-m", "gem_check")["tests"] == 1
    assert project.outcomes(*clause, "-m", "not gem_check")["tests"] == 1
    assert (
        project.outcomes("test_mine.py::test_own", "--gem-check", "guess", "-k", "own or contract.step")["tests"] == 4
    )


def test_only_what_failed_is_run_again(project: Project) -> None:
    """With --lf the violated clauses run, and what passed does not."""
    clauses = ("--gem-check", "guess", "-k", "contract.reward or contract.observation")
    first = project.outcomes(*clauses)
    again = project.outcomes(*clauses, "--lf")
    assert first["tests"] == 6
    assert 0 < first["failures"] == again["failures"] == again["tests"] < 6


def test_an_unknown_target_is_one_sentence(project: Project) -> None:
    """A target that names nothing is an error of the collection, without a traceback."""
    done = project.pytest("--gem-check", "guess:Sond-v0")
    assert done.returncode == 2
    assert "--gem-check guess:Sond-v0: no environment 'guess:Sond-v0'; did you mean 'guess:Sound-v0'?" in done.stdout
    assert "Traceback" not in done.stdout
    assert ".py" not in done.stdout.partition("ERRORS")[2]


GOLDEN_TEST = """
import pytest
from gem_testing.agents import NullPolicy

@pytest.mark.parametrize("number", [1, 2])
def test_sound(golden, number):
    golden(f"sound-{number}", "guess:Sound-v0", policy=NullPolicy(), seeds=range(number))
"""


def golden_files(project: Project) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in (project.folder / "tests" / "golden").glob("*")}


def test_golden_files_are_written_and_held_to(project: Project) -> None:
    """A missing file fails with the line that makes it; that line makes it; from then on the tests hold."""
    project.write("tests/test_golden.py", GOLDEN_TEST)
    done = project.pytest()
    assert "2 failed" in done.stdout
    assert "sound-1.jsonl does not exist; to write it, run: pytest 'tests/test_golden.py::test_sound[1]'" in done.stdout
    assert "gem_testing/golden.py:" not in done.stdout
    assert golden_files(project) == {}

    done = project.pytest("tests/test_golden.py::test_sound[1]", "--gem-update-golden")
    assert "1 passed" in done.stdout
    assert str(project.folder / "tests" / "golden" / "sound-1.jsonl") in done.stdout.partition("episodes written")[2]
    written = golden_files(project)
    assert written.keys() == {"sound-1.jsonl"}

    done = project.pytest("--gem-update-golden")
    section = done.stdout.partition("golden episodes written")[2]
    assert "sound-2.jsonl" in section
    assert "sound-1.jsonl" not in section
    assert golden_files(project)["sound-1.jsonl"] == written["sound-1.jsonl"]
    assert "2 passed" in project.pytest().stdout


def test_a_difference_fails_the_test(project: Project, site: Any) -> None:
    """A changed environment fails with the first difference, and the failure shows the test's own line only."""
    project.write("tests/test_golden.py", GOLDEN_TEST)
    project.pytest("--gem-update-golden")
    source = site.folder / "guess_envs" / "__init__.py"
    # Of another length, as bytecode of the same second is told by that alone.
    source.write_text(source.read_text().replace("turns = 2", "turns = 1 + 2"))
    done = project.pytest()
    assert "2 failed" in done.stdout
    assert "episode 0: turn 2: terminated was True and is now False; if that is intended, run: pytest" in done.stdout
    assert "gem_testing/golden.py:" not in done.stdout


def test_two_tests_that_write_one_file_are_told_apart(project: Project) -> None:
    """The second test to write other episodes to a file fails and names the first."""
    project.write("tests/test_golden.py", GOLDEN_TEST.replace("sound-{number}", "sound"))
    done = project.pytest("--gem-update-golden")
    assert "1 passed" in done.stdout
    assert "test_sound[1] has written other episodes to" in done.stdout.replace("\n", "")


def test_a_conftest_may_use_the_plain_names(project: Project) -> None:
    """A project with an option --update-golden and a fixture golden of its own is not disturbed."""
    project.write(
        "conftest.py",
        "import pytest\n"
        "def pytest_addoption(parser): parser.addoption('--update-golden', action='store_true')\n"
        "@pytest.fixture\ndef golden(): return 'own'\n",
    )
    project.write("test_own.py", "def test_own(golden): assert golden == 'own'\n")
    assert project.outcomes("--update-golden") == {"tests": 1, "failures": 0, "skipped": 0, "errors": 0}


CONFORMANCE_TEST = """
from gem_testing import EnvConformance

class TestGuess(EnvConformance):
    environments = ("guess:Sound-v0-other", "guess:Sound-v0", "guess:Broken-v0")
    without = {without!r}
    clauses = {clauses!r}
"""


def conformance_tests(
    project: Project, *arguments: str, without: tuple[str, ...] = (), clauses: tuple[str, ...] = ()
) -> dict[str, list[str]]:
    """Return the clauses that a test class collects for each environment."""
    project.write("test_guess.py", CONFORMANCE_TEST.format(without=without, clauses=clauses))
    found: dict[str, list[str]] = {}
    for line in project.pytest("--collect-only", "-q", *arguments).stdout.splitlines():
        if match := re.search(r"\[(guess:[\w-]+)-(\w+\.\w+)\]$", line):
            found.setdefault(match[1], []).append(match[2])
    return found


def test_full_clauses_once_a_class(project: Project) -> None:
    """The first environment of a class is tested against every clause, the others against those on arguments."""
    found = conformance_tests(project)
    assert [*found] == ["guess:Sound-v0-other", "guess:Sound-v0", "guess:Broken-v0"]
    # No reward_range and no reference_policy are declared, and the package depends on nothing.
    lacking = {"reward.range", "reward.reference", "reward.reference_sees", "reward.null", "reward.thoughtless"}
    exempt = {"state.json"}
    whole = [name for name in CLAUSES if name not in lacking]
    assert found["guess:Broken-v0"] == whole
    assert found["guess:Sound-v0-other"] == [name for name in whole if name not in exempt]
    by_arguments = [name for name in whole if CLAUSES[name].by_arguments]
    assert found["guess:Sound-v0"] == by_arguments
    assert 10 < len(by_arguments) < 25


def test_a_test_class_chooses_clauses(project: Project) -> None:
    """By name and by group, and only among those that it would test otherwise."""
    found = conformance_tests(project, clauses=("state.pickle", "info"))
    assert found["guess:Broken-v0"] == ["info.json", "info.keys", "info.unchanged", "info.unaliased", "state.pickle"]
    assert "guess:Sound-v0" not in found, "none of these depends on arguments, and its class is tested already"


def test_an_unknown_clause_is_one_sentence(project: Project) -> None:
    """A misspelt clause does not make a test class that tests less."""
    project.write("test_guess.py", CONFORMANCE_TEST.format(without=(), clauses=("state.pickel",)))
    done = project.pytest()
    assert done.returncode == 2
    assert "TestGuess: there is no clause or group of clauses 'state.pickel'" in done.stdout
    assert "did you mean 'state.pickle'?" in done.stdout


def test_functions_without_a_name_stand_for_no_common_class() -> None:
    """Each of two lambdas is tested against every clause."""
    envs = [EnvUnderTest(lambda: None), EnvUnderTest(lambda: None)]  # type: ignore[arg-type, return-value]
    first, second = ([clause for env, clause in clauses_for_each(envs) if env is under_test] for under_test in envs)
    assert first == second
    assert len(first) > len([name for name in first if CLAUSES[name].by_arguments])


def test_a_class_without_environments_is_an_error(project: Project) -> None:
    """A misspelt attribute does not make a test class that tests nothing."""
    project.write(
        "test_guess.py", CONFORMANCE_TEST.format(without=(), clauses=()).replace("environments =", "environment =")
    )
    done = project.pytest()
    assert done.returncode == 2
    assert "TestGuess names no environments" in done.stdout


def test_a_test_class_needs_no_plugin(project: Project) -> None:
    """With the plugin switched off, a test class makes the same tests."""
    assert conformance_tests(project, "-p", "no:gem") == conformance_tests(project)


def test_every_variant_can_be_tested_against_every_clause(project: Project) -> None:
    """The option does so for all classes."""
    found = conformance_tests(project, "--gem-every-variant")
    assert found["guess:Sound-v0"] == found["guess:Sound-v0-other"]
    assert set(found["guess:Sound-v0"]) == set(found["guess:Broken-v0"]) - {"state.json"}


def test_an_environment_that_requires_nothing_stands_for_its_class(project: Project, site: Any) -> None:
    """What every machine can test comes first, and what a test class cannot rely on makes no test."""
    sound, broken = MANIFEST.split("\n\n[[environment]]\n")[1:]
    requiring = sound.replace("description", 'requires = ["gpu"]\ndescription', 1)
    same_class = broken.replace("guess_envs:Broken", "guess_envs:Sound")
    tables = "".join(f"\n\n[[environment]]\n{table}" for table in (requiring, same_class))
    (site.folder / "guess_envs" / "environments.toml").write_text(f"schema = 1{tables}")
    found = conformance_tests(project)
    assert len(found["guess:Sound-v0"]) == len(found["guess:Sound-v0-other"]) < len(found["guess:Broken-v0"])
    assert [*conformance_tests(project, without=("gpu",))] == ["guess:Broken-v0"]


def test_a_conformance_test_fails_with_the_violation(project: Project) -> None:
    """The failure names environment, clause and value."""
    project.write("test_guess.py", CONFORMANCE_TEST.format(without=(), clauses=()))
    done = project.pytest("-k", "Broken and contract.reward")
    assert done.returncode == 1
    assert "guess:Broken-v0 violates contract.reward: step 1 (seed 0) returned the reward 'much'" in done.stdout
