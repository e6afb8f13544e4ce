"""``gem check``: what it prints, writes and returns, and that nothing is left when it is stopped."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gem_cli.main import run
from gem_testing import CLAUSES, ClauseOutcome, ClauseResult, pool
from gem_testing.cli.check import check_command
from gem_testing.record import ConformanceRecord

# Two turns of an environment that keeps every clause, and a policy that gets the highest return from it.
LAMP = '''
"""A lamp that has to be switched on."""

from __future__ import annotations

import os
from typing import Any

import gem
from gem.errors import EpisodeFinishedError, ResetNeededError, StateError


class LampEnv(gem.Env[str, str]):
    """Say on."""

    def __init__(self, max_turns: int = 3, harm: str = "") -> None:
        self.max_turns = max_turns
        self.harm = harm
        self._turn: int | None = None
        self._over = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self._turn, self._over = 0, False
        self._word = self.rng.choice(["on", "please"])
        return self._show(), {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self._turn is None:
            raise ResetNeededError("call reset() first")
        if self._over:
            raise EpisodeFinishedError("call reset() to begin another episode")
        exec(self.harm)
        self._turn += 1
        lit, late = action == self._word, self._turn >= self.max_turns
        self._over = lit or late
        return self._show(), float(lit), self._over, late and not lit, {"turn": self._turn, "success": lit}

    def _show(self) -> str:
        return f"Say {self._word!r}. Turn {self._turn} of {self.max_turns}."

    def sample_random_action(self) -> str:
        return self.action_rng.choice(["on", "off"])

    def get_state(self) -> dict[str, Any]:
        if self._turn is None:
            raise ResetNeededError("call reset() first")
        return {**self.generator_state(), "turn": self._turn, "over": self._over, "word": self._word}

    def set_state(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict) or not {"turn", "over", "word"} <= state.keys():
            raise StateError("not a state of this environment")
        turn, over, word = state["turn"], state["over"], state["word"]
        if type(turn) is not int or type(over) is not bool or word not in ("on", "please"):
            raise StateError("not a state of this environment")
        self.set_generator_state(state)
        self._turn, self._over, self._word = turn, over, word


class LampPolicy(gem.Policy[str, str]):
    """Says what it is told to."""

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return observation.split("'")[1]
'''

HEAD = """
schema = 1
[[environment]]
id = "lamp:Lamp-v0"
entry_point = "lamps:LampEnv"
description = "A lamp."
tags = ["domain:games", "skill:exploration"]
reward_range = [0.0, 1.0]
reference_policy = "lamps:LampPolicy"
"""


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a target puts on sys.path goes with the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with much to do, the last reports of a process that dies arrive late; speed is no matter."""
    monkeypatch.setattr(pool, "_GRACE", 10.0)
    monkeypatch.setattr(pool, "SPEED_SECONDS", 0.01)


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    """A project with one healthy environment, which nobody has installed."""
    (tmp_path / "src" / "lamps").mkdir(parents=True)
    (tmp_path / "src" / "lamps" / "__init__.py").write_text(LAMP, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "lamps"\nversion = "1.0"\ndependencies = ["gem-core"]\n'
        '[project.entry-points."gem.envs"]\nlamp = "lamps"\n'
    )
    return write_manifest(tmp_path)


def write_manifest(project: Path, variants: str = "", more: str = "") -> Path:
    text = f"{HEAD}{more}\n[environment.variants]\n{variants}"
    (project / "src" / "lamps" / "environments.toml").write_text(text, encoding="utf-8")
    return project


def invoke(*arguments: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(check_command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def lines_with(output: str, text: str) -> list[str]:
    return [line for line in output.splitlines() if text in line]


def test_a_healthy_package_holds(lamps: Path) -> None:
    """The table counts clauses and shows scores; the last line is the verdict, and the exit code 0."""
    output = invoke(lamps, "--strict").output
    assert output.splitlines()[-1] == "1 environment: all clauses hold"
    (row,) = lines_with(output, "lamp:Lamp-v0")
    assert row.split()[:2] == ["lamp:Lamp-v0", str(len(CLAUSES))]
    assert row.endswith("1.00 ± 0.00")


def test_tags_are_of_the_vocabulary(lamps: Path) -> None:
    """An unknown controlled tag violates the schema, with the nearest one; missing ones are only advice."""
    manifest = lamps / "src" / "lamps" / "environments.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("domain:games", "domain:gmaes"), encoding="utf-8")
    (line,) = lines_with(invoke(lamps, "--clause", "manifest.schema", code=1).output, "domain:gmaes")
    assert line.endswith("the tag 'domain:gmaes' is not in the vocabulary; did you mean 'domain:games'?")
    manifest.write_text(text.replace('"domain:games", ', '"lights", '), encoding="utf-8")
    output = invoke(lamps, "--clause", "manifest.schema").output
    assert "has no domain among its tags" in output
    assert "domain:NAME (domain: agriculture, art, " in output


def test_the_current_folder_is_the_default(lamps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a target the package of the current folder is checked."""
    monkeypatch.chdir(lamps)
    assert "1 environment: all clauses hold" in invoke("--clause", "manifest.ids").output


def test_violations_are_grouped_and_fail(lamps: Path) -> None:
    """A sentence that holds for several variants is printed once, with all their names."""
    write_manifest(lamps, 'a = { harm = "print(1)" }\nb = { harm = "print(1)" }\nc = { harm = "os._exit(9)" }\n')
    output = invoke(lamps, "--clause", "residue.output", "--clause", "contract.step", code=1).output
    (printed,) = lines_with(output, "was printed to standard output")
    assert printed.startswith("  lamp:Lamp-v0-a and 1 other  residue.output  ")
    (died,) = lines_with(output, "  contract.step  ")
    assert died.startswith("  lamp:Lamp-v0-c  contract.step  the process died with exit code 9 in this clause")
    assert output.splitlines()[-1] == "3 of 4 environments violate a clause"


def test_what_is_not_tested_fails_only_if_asked(lamps: Path) -> None:
    """Clauses that cannot be tested are listed with advice, exempt ones with the reason."""
    source = lamps / "src" / "lamps" / "__init__.py"
    source.write_text(LAMP.replace("def get_state", "def no_get_state").replace("def set_state", "def no_set_state"))
    write_manifest(lamps, "small = { max_turns = 2 }\n", 'exempt = { "contract.spawn" = "there is one lamp" }')
    wanted = ("--clause", "state.json", "--clause", "contract.spawn", "--clause", "manifest.ids")
    output = invoke(lamps, *wanted).output
    (untested,) = lines_with(output, "state.json")
    assert untested.startswith("  lamp:Lamp-v0 (and -small)  state.json  ")
    (exempt,) = lines_with(output, "contract.spawn")
    assert exempt == "  lamp:Lamp-v0 (and -small)  contract.spawn  there is one lamp"
    assert output.splitlines()[-1] == "2 environments: all clauses hold, but 2 could not be tested and 2 are exempt"
    invoke(lamps, *wanted, "--strict", code=1)


def test_a_broken_manifest_is_a_violation_with_every_reason(lamps: Path) -> None:
    """What the schema refuses is reported like any other clause, on the screen and in JSON."""
    manifest = lamps / "src" / "lamps" / "environments.toml"
    manifest.write_text(HEAD + 'turns = "many"\ncolour = "red"\n')
    output = invoke(lamps, code=1).output
    (line,) = lines_with(output, "manifest.schema")
    assert line.startswith("  lamps  manifest.schema  ")
    assert "turns" in line
    assert "colour" in line
    assert output.splitlines()[-1] == "1 manifest cannot be used"
    (package,) = json.loads(invoke(lamps, "--json", code=1).output)["packages"]
    assert "colour" in package["problem"]
    assert not package["complete"]


def test_json_is_the_record(lamps: Path, tmp_path: Path) -> None:
    """--json prints what --report writes; the record is complete and can be read back."""
    report = tmp_path / "new" / "report.json"
    printed = json.loads(invoke(lamps, "--json", "--report", report).output)
    record = ConformanceRecord.read(report)
    assert printed == record.to_dict()
    (package,) = record.packages
    assert package.complete
    (environment,) = package.environments
    assert {clause.outcome for clause in environment.clauses} == {"holds"}
    assert environment.scores["reference"].mean == 1.0
    assert environment.speed is not None
    assert environment.speed.relative_steps > 0
    assert environment.errors == []


def test_the_report_is_written_for_violations_too(lamps: Path, tmp_path: Path) -> None:
    """A hub stores failures; the file is named."""
    write_manifest(lamps, more="reference_return = 0.1")
    report = tmp_path / "report.json"
    assert f"recorded in {report}" in invoke(lamps, "--clause", "reward", "--report", report, code=1).output
    (environment,) = ConformanceRecord.read(report).packages[0].environments
    assert "violated" in {clause.outcome for clause in environment.clauses}


def test_control_characters_of_an_environment_stay_text(lamps: Path) -> None:
    """An error with escape sequences and lone surrogates neither steers the terminal nor breaks the output."""
    source = lamps / "src" / "lamps" / "__init__.py"
    source.write_text("raise ValueError('\\x1b[2J\\ud800\\n\u00fc')", encoding="utf-8")
    output = invoke(lamps, "--clause", "contract.construction", code=1).output
    assert "\\x1b[2J\\ud800 \u00fc" in output
    assert json.loads(invoke(lamps, "--clause", "contract.construction", "--json", code=1).output)


def failing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[object, str]:
    """Exit code and stderr of the command as a person runs it."""
    monkeypatch.setattr("sys.argv", ["gem", "check", *arguments])
    with pytest.raises(SystemExit) as stopped:
        run()
    return stopped.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 1, "is not a package of environments"),
        (["no-such-thing"], 1, "'no-such-thing' is not an environment id"),
        (["PROJECT", "--clause", "residue.fils"], 1, "did you mean 'residue.files'?"),
        (["PROJECT", "--jobs", "0"], 2, "is not in the range"),
        (["PROJECT", "--timeout", "0"], 2, "is not in the range"),
        (["PROJECT", "--report", "PROJECT/pyproject.toml/report.json"], 1, "pyproject.toml"),
    ],
)
def test_errors_are_one_clear_message(
    lamps: Path,
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No traceback, and no work is done before arguments are looked at."""
    (lamps / "empty").mkdir()
    monkeypatch.chdir(lamps / "empty")
    stopped, shown = failing(capsys, monkeypatch, *(item.replace("PROJECT", str(lamps)) for item in arguments))
    assert (stopped, "Traceback" in shown) == (code, False)
    assert message in shown


def test_what_is_known_when_it_is_stopped_is_shown(lamps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that have come stay, the verdict claims no more than they say, and no report is written."""

    def stopped(*_: object) -> Iterator[pool.Event]:
        yield pool.ClauseFinished(0, ClauseResult("info.json", ClauseOutcome.VIOLATED, "no JSON"))
        yield pool.JobFinished(0)
        yield pool.ClauseFinished(1, ClauseResult("info.json", ClauseOutcome.HOLDS))
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "check", stopped)
    write_manifest(lamps, "small = { max_turns = 2 }\n")
    output = invoke(lamps, "--report", lamps / "report.json", code=1).output
    assert lines_with(output, "info.json") == ["  lamp:Lamp-v0  info.json  no JSON"]
    last = "1 of 2 environments violates a clause, and 1 of 2 environments is not checked to the end"
    assert output.splitlines()[-2:] == [last, "Aborted!"]
    assert not (lamps / "report.json").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs and signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_shows_what_is_known_and_leaves_no_process(lamps: Path, tmp_path: Path, number: int) -> None:
    """Ctrl-C and a polite kill end all processes of the check; the results that are there are shown."""
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    harm = (
        f"import time; self.end = os.open('{fifo}', os.O_WRONLY); os.write(self.end, b'.'); os.fork(); time.sleep(9e3)"
    )
    write_manifest(lamps, more=f'kwargs = {{ harm = "{harm}" }}')
    only = ("--clause", "contract.construction", "--clause", "contract.step")
    process = subprocess.Popen(
        [sys.executable, "-m", "gem", "check", str(lamps), *only],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    with process:
        assert select.select([end], [], [], 60)[0]  # the environment has written into the other end
        process.send_signal(number)
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, "Interrupted.\n")
    assert output.splitlines()[-1] == "1 of 1 environment is not checked to the end"
    some = b"some"
    while some:  # nothing comes when no process has it open any more
        try:
            some = os.read(end, 1 << 16)
        except BlockingIOError:
            assert select.select([end], [], [], 60)[0], "a process still has it open"
    os.close(end)


@pytest.mark.nightly
def test_attacks_are_played_recorded_and_fail_the_check_unless_declared(lamps: Path, tmp_path: Path) -> None:
    """A lamp that any text with its word turns on pays copies; a reason in the manifest makes that a declared one."""
    module = lamps / "src" / "lamps" / "__init__.py"
    module.write_text(LAMP.replace("action == self._word", "self._word in str(action)"), encoding="utf-8")
    arguments = (lamps, "--clause", "manifest.schema", "--attacks", "--attack-seconds", "5")
    output = invoke(*arguments, "--report", tmp_path / "record.json", code=1).output
    (line,) = lines_with(output, "copies.whole")
    assert line.startswith("  lamp:Lamp-v0  copies.whole  'what is shown' earns 1.00 (95 % interval 0.86 to 1.00, 24 ")
    (environment,) = ConformanceRecord.read(tmp_path / "record.json").packages[0].environments
    assert environment.attacks is not None
    paying = {attack.name for attack in environment.attacks.results if attack.outcome == "pays"}
    assert "copies.whole" in paying
    families = {name.partition(".")[0] for name in paying}
    write_manifest(lamps, more="\n".join(["[environment.exempt]", *(f'"attacks.{one}" = "shown"' for one in families)]))
    output = invoke(*arguments).output
    assert "attacks that pay, as the manifest declares" in output
    write_manifest(lamps, more='[environment.exempt]\n"attacks.copy" = "shown"')
    assert "did you mean 'attacks.copies'?" in invoke(*arguments, code=1).output


def test_without_attacks_no_record_has_an_audit(lamps: Path, tmp_path: Path) -> None:
    """The key is there, and empty."""
    invoke(lamps, "--clause", "manifest.schema", "--report", tmp_path / "record.json")
    (environment,) = ConformanceRecord.read(tmp_path / "record.json").packages[0].environments
    assert environment.attacks is None
