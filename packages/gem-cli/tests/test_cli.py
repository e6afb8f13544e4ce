"""The gem command, on an environment registered in this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner, Result

import gem
from gem import discovery
from gem.action_forms import BoxedChoice
from gem.core import Env, Info
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MoveResult, legal, success
from gem_cli import diagnosis
from gem_cli.listing import _lines
from gem_cli.main import COMMANDS, cli, run
from gem_cli.output import Table, as_text
from gem_cli.pictures import picture_text
from gem_cli.terminal_text import wrapped
from gem_questions import Grade, QuestionEnv
from gem_questions.cli.data import data_command
from gem_rollout.cli.bench import _show_modes
from gem_rollout.speed import VectorSpeed
from gem_rollout.trajectory import Trajectory, TrajectoryWriter, read_trajectories

if TYPE_CHECKING:
    from conftest import PluginSite


class Countdown(Env[str, str]):
    r"""Say \boxed{next} until zero.

    Args:
        start: where the count begins.
    """

    def __init__(self, start: int = 3) -> None:
        self.start = start

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.left = self.start
        return f"Count down from {self.left} with \\boxed{{next}}. [bold]not markup[/bold]", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if action == "\\boxed{break}":
            raise RuntimeError("the counter broke")
        self.left -= action == "\\boxed{next}"
        done = self.left == 0
        info: Info = {"success": True} if done else {}
        return f"{self.left} left", float(done), done, False, info

    def sample_random_action(self) -> str:
        return "\\boxed{next}"


class Words(gem.TextEnv[str]):
    """Say the word twice."""

    form = BoxedChoice("next")
    saved = StateFields(said=int)

    def _begin(self) -> None:
        self.said = 0

    def _instructions(self) -> str:
        return "Say \\boxed{next} twice."

    def _board(self) -> str:
        return f"Said {self.said} times."

    def _play(self, move: str) -> MoveResult:
        self.said += 1
        return legal("Once more.") if self.said < 2 else success("Done.")


class Sum(QuestionEnv):
    """Asks for one sum."""

    def __init__(self) -> None:
        super().__init__([{"question": "4 + 5", "answer": "9"}])

    def question(self, row: Any) -> str:
        return f"What is {row['question']}? Answer in \\boxed{{}}."

    def grade(self, action: Any, row: Any) -> Grade:
        correct = action == self.reference_answer(row)
        return Grade(float(correct), correct)

    def reference_answer(self, row: Any) -> str:
        return f"\\boxed{{{row['answer']}}}"


ENVIRONMENTS = {"test:Countdown-v0": Countdown, "test:Words-v0": Words, "test:Sum-v0": Sum}


@pytest.fixture(autouse=True)
def _environments() -> Iterator[None]:
    for name, entry_point in ENVIRONMENTS.items():
        gem.register(name, entry_point, replace=True)
    yield
    for name in ENVIRONMENTS:
        gem.unregister(name)


def invoke(*arguments: str, typed: str | None = None) -> Result:
    result = CliRunner().invoke(cli, list(arguments), input=typed, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def failing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Any, str]:
    """Exit code and stderr of the command as a person runs it."""
    monkeypatch.setattr("sys.argv", ["gem", *arguments])
    with pytest.raises(SystemExit) as stopped:
        run()
    return stopped.value.code, capsys.readouterr().err


def test_warnings_about_the_source_of_libraries_are_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python warns of odd code when it first compiles a library; that is nothing to the user of a command."""

    class Odd(Words):
        def _begin(self) -> None:
            warnings.warn('"is" with a literal', SyntaxWarning, stacklevel=1)
            super()._begin()

    gem.register("test:Odd-v0", Odd)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            code, shown = failing(capsys, monkeypatch, "info", "test:Odd-v0")
    finally:
        gem.unregister("test:Odd-v0")
    assert (code, shown) == (0, "")


def test_list_shows_what_is_registered() -> None:
    """The table, the bare ids and the JSON hold the same environments."""
    assert "test:Countdown-v0" in invoke("list", "test").output
    assert invoke("list", "test", "--ids").output.splitlines() == sorted(ENVIRONMENTS)
    assert [item["id"] for item in json.loads(invoke("list", "test", "--json").output)] == sorted(ENVIRONMENTS)


def test_list_refuses_a_tag_that_no_environment_has() -> None:
    """As it refuses an unknown namespace or package."""
    result = CliRunner().invoke(cli, ["list", "test", "--tag", "missing"])
    assert result.exit_code == 2
    assert "no installed environment has the tag 'missing'" in result.output


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [(["tset"], "did you mean 'test'?"), (["zzz"], "installed: "), (["--package", "nobody"], "installed: ")],
)
def test_list_refuses_a_namespace_or_package_that_is_not_installed(arguments: list[str], advice: str) -> None:
    """The exit code is that of wrong usage, and the message has the nearest name or all of them."""
    refused = CliRunner().invoke(cli, ["list", *arguments])
    assert (refused.exit_code, advice in refused.output) == (2, True)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_list_gives_each_environment_one_line_of_a_terminal(width: int) -> None:
    """Ids are whole, so that they can be copied; only descriptions are cut, at a word, and lines fit the terminal."""
    specs = gem.all_specs("test")
    lines = [click.unstyle(line) for line in _lines("a title", specs, width)]
    assert [line.split()[0] for line in lines[1:-2]] == sorted({spec.id for spec in specs})
    assert all(len(line) <= width for line in lines[1:-2] if width < 120)


def test_info_shows_arguments_rules_and_an_observation() -> None:
    """What an environment is can be read without running it, and markup in its text stays text."""
    shown = invoke("info", "test:Countdown-v0").output
    assert "Say \\boxed{next} until zero." in shown
    assert "[bold]not markup[/bold]" in shown
    record = json.loads(invoke("info", "test:Countdown-v0", "--json").output)
    assert record["arguments"]["start"] == {"type": "int", "default": 3, "value": 3}
    assert record["example_observation"].startswith("Count down from 3")


def test_rollout_keeps_no_trajectories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many episodes are played, no more are in memory than are being played, recorded and summed up."""
    known: list[weakref.ref[Trajectory]] = []
    alive: list[int] = []
    write = TrajectoryWriter.write

    def counted(self: TrajectoryWriter, trajectory: Trajectory) -> None:
        known.append(weakref.ref(trajectory))
        alive.append(sum(reference() is not None for reference in known))
        write(self, trajectory)

    monkeypatch.setattr(TrajectoryWriter, "write", counted)
    out = tmp_path / "runs.jsonl"
    invoke("rollout", "test:Countdown-v0", "--episodes", "40", "--num-envs", "2", "--out", str(out))
    assert len(alive) == len(list(read_trajectories(out))) == 40
    assert max(alive) <= 4


def test_rollout_records_episodes_and_reports(tmp_path: Path) -> None:
    """The table, the JSON and the file agree."""
    out = tmp_path / "runs" / "count.jsonl"
    arguments = ("rollout", "test:Countdown-v0", "--episodes", "5", "--num-envs", "2", "--out", str(out))
    assert "1.000" in invoke(*arguments).output
    report = json.loads(invoke(*arguments, "--seed", "5", "--json").output)
    assert report["environments"][0] == {
        "env_id": "test:Countdown-v0",
        "episodes": 5,
        "mean_return": 1.0,
        "standard_error": 0.0,
        "success_rate": 1.0,
        "mean_turns": 3.0,
        "errors": 0,
        "successes": 5,
        "judged": 5,
        "unknown": 0,
    }
    recorded = list(read_trajectories(out))
    assert sorted(t.seed for t in recorded if t.seed is not None) == list(range(10))
    assert all(len(t) == 3 and t.agent == "random" for t in recorded)


def test_show_reads_episodes(tmp_path: Path) -> None:
    """The overview lists them, a number reads one, and a turn is picked out."""
    out = str(tmp_path / "count.jsonl")
    invoke("rollout", "test:Countdown-v0", "--episodes", "2", "--out", out)
    assert "success" in invoke("show", out).output
    episode = invoke("show", out, "1").output
    assert "turn 3" in episode
    assert "[bold]not markup[/bold]" in episode
    assert "turn 2" not in invoke("show", out, "1", "--turn", "3").output
    assert json.loads(invoke("show", out, "0", "--json").output)["schema"] == 2
    assert len(json.loads(invoke("show", out, "--json").output)) == 2


def test_a_person_plays(tmp_path: Path) -> None:
    """Typed moves get their box, helpers work, and the finished episode is recorded."""
    out = tmp_path / "mine.jsonl"
    typed = "/help\n/hint\n\n/what\nnext\n/random\nnext\nn\n"
    shown = invoke("play", "test:Countdown-v0", "--seed", "1", "--out", str(out), typed=typed).output
    assert "has no reference policy" in shown
    assert "Return 1 in 3 turns." in shown
    (mine,) = read_trajectories(out)
    assert [t.action for t in mine.transitions] == ["\\boxed{next}"] * 3
    assert mine.agent == "human"


def test_a_person_leaves_or_begins_anew() -> None:
    """/quit and the end of input leave; /new begins another episode."""
    assert "1 left" not in invoke("play", "test:Countdown-v0", typed="next\n/new\nnext\n/quit\n").output
    assert "2 left" in invoke("play", "test:Countdown-v0", typed="next\n").output


def test_an_action_that_cannot_be_read_costs_nothing(tmp_path: Path) -> None:
    """Play says what was wrong and asks again; the record holds the turns that counted. With --strict it is a turn."""
    out = tmp_path / "mine.jsonl"
    shown = invoke("play", "test:Words-v0", "--seed", "1", "--out", str(out), typed="what?\nnext\nnext\nn\n").output
    assert "Not understood, and not counted" in shown
    (mine,) = read_trajectories(out)
    assert [t.action for t in mine.transitions] == ["\\boxed{next}"] * 2
    strict = invoke("play", "test:Words-v0", "--seed", "1", "--strict", typed="what?\nn\n").output
    assert "Return -0.1 in 1 turns." in strict


def test_the_question_after_an_episode_takes_commands() -> None:
    """/new begins another episode, /quit leaves, and anything else asks again."""
    shown = invoke("play", "test:Words-v0", typed="next\nnext\nmaybe\n/new\nnext\nnext\n/quit\n").output
    assert shown.count("Return 1 in 2 turns.") == 2
    assert "Type y or n, /new or /quit." in shown


def test_a_fence_holds_an_action_of_several_lines(tmp_path: Path) -> None:
    """Lines between two fences are one action."""
    out = tmp_path / "mine.jsonl"
    invoke("play", "test:Sum-v0", "--out", str(out), typed="```python\nx = 1\n\ny = 2\n```\nn\n")
    (mine,) = read_trajectories(out)
    assert [t.action for t in mine.transitions] == ["```python\nx = 1\n\ny = 2\n```"]


def test_after_a_question_the_answer_is_shown() -> None:
    """A wrong answer is followed by the right one, and the mark of the end of an episode is not shown."""
    shown = invoke("play", "test:Sum-v0", typed="5\nn\n").output
    assert "Return 0 in 1 turns." in shown
    assert "TERMINAL_STATE" not in shown
    assert "The answer was" in shown


@pytest.mark.parametrize(
    "text", ["\x1b]0;title\x07", "\x1b[2J", "\r", "\x9b31m", "\u202eabc", "\ud800", "\x7f", "\x00"]
)
def test_hostile_text_reaches_no_terminal(text: str) -> None:
    """Escape sequences, overrides of direction and lone surrogates are made visible; plain text stays as it is."""
    shown = as_text(f"a{text}b\n\tc")
    assert shown[0] == "a"
    assert shown.endswith("b\n\tc")
    assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e", "\ud800", "\x7f", "\x00"} & set(shown)
    assert as_text("naïve\n→ 日本") == "naïve\n→ 日本"
    assert text not in as_text([{"type": text}])


PNG = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b_Ga=T,f=100,m=0;iVBORw0KGgo=\x1b\\"),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]1337;File=inline=1;size=8;"),
        ({"TERM": "xterm"}, "[picture: /"),
    ],
)
def test_a_terminal_shows_pictures(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], shown: str) -> None:
    """Inline where the terminal can; else in a file with the picture's bytes, whose path is printed."""
    for name in ("TERM", "TERM_PROGRAM", "KITTY_WINDOW_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    text = picture_text({"type": "image_url", "image_url": {"url": PNG}})
    assert text.startswith(shown)
    if "[picture: " in text:
        assert Path(text[len("[picture: ") : -1]).read_bytes() == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    "url",
    ["https://example.org/a.png", "data:image/svg+xml;base64,PHN2Zy8+", "data:image/png;base64,%%%", "data:", None, 7],
)
def test_a_picture_that_cannot_be_shown_is_named(monkeypatch: pytest.MonkeyPatch, url: Any) -> None:
    """Nothing is fetched, nothing unknown is written, and nothing raises."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert picture_text({"type": "image_url", "image_url": {"url": url}}).startswith("[image_url")


def test_bench_measures() -> None:
    """Speeds are positive numbers."""
    (figures,) = json.loads(invoke("bench", "test:Countdown-v0", "--seconds", "0.01", "--json").output)
    assert figures["steps_per_cpu_second"] > 0
    assert "steps per CPU s" in invoke("bench", "test:Countdown-v0", "--seconds", "0.01").output


def test_bench_measures_the_modes_and_what_auto_mode_chooses() -> None:
    """With a number of environments."""
    asked = ("bench", "test:Countdown-v0", "--seconds", "0.01", "--num-envs", "2", "--json")
    (figures,) = json.loads(invoke(*asked).output)
    vector = figures["vector"]
    assert vector["num_envs"] == 2
    assert {"sync", "thread", "auto"} <= set(vector["steps_per_second"])
    assert all(rate > 0 for rate in vector["steps_per_second"].values())
    assert vector["chosen"] == "sync"
    assert vector["reason"].startswith("a step computes")


def test_bench_shows_the_modes_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps per second by mode, the choice, and its reason."""
    _show_modes([VectorSpeed("test:Countdown-v0", 2, {"sync": 1234.5, "auto": 99.0}, "sync", "because of that.")])
    shown = capsys.readouterr().out
    for word in ("2 of", "sync, steps per s", "1,234", "auto chooses", "because of that."):
        assert word in shown


def test_every_command_has_help_with_an_example_and_json() -> None:
    """Gem NAME --help shows an example, and every command prints JSON on request."""
    data = [f"data {name}" for name in data_command.commands]
    for name in [*(name for name in COMMANDS if name not in ("data", "hub")), *data]:
        shown = invoke(*name.split(), "--help").output
        assert "Example" in shown, name
        assert f"gem {name}" in shown, name
        assert "--json" in shown, name


def test_a_command_of_a_missing_package_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without plugins, the name of a command that one of our packages brings gives the install line."""
    monkeypatch.setenv(discovery.SWITCH, "1")
    discovery.clear_caches()
    stopped, shown = failing(capsys, monkeypatch, "search-server")
    discovery.clear_caches()
    assert stopped == 2
    assert "pip install gem-tools" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["info", "test:Countdwn-v0"], 1, "did you mean 'test:Countdown-v0'?"),
        (["info", "nonsense"], 1, "is not an environment id"),
        (["info", "game:None-v0"], 1, "game:None-v0"),
        (["rollout", "test:Countdown-v0", "--agent", "reference"], 1, "declares no reference policy"),
        (["rollout", "test:Countdown-v0", "--agent", "best"], 1, "or 'module:Class', got 'best'"),
        (["rollout", "test:Countdown-v0", "--wrappers", "concatt"], 1, "did you mean 'concat'?"),
        (["rollout", "test:Countdown-v0", "--mode", "threads"], 1, "did you mean 'thread'?"),
        (["rollout", "test:Countdown-v0", "--episodes", "0"], 2, "is not in the range"),
        (["show", "missing.jsonl"], 2, "does not exist"),
        (["lst"], 2, "did you mean 'list'?"),
        (["list", "--jsn"], 2, "--json"),
    ],
)
def test_errors_are_one_clear_message(
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No traceback reaches a person; the exit code tells failure (1) from wrong usage (2)."""
    stopped, shown = failing(capsys, monkeypatch, *arguments)
    assert stopped == code
    assert message in shown
    assert "Traceback" not in shown


def test_a_broken_record_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that holds other JSON, and an episode that is not there, are named."""
    other = tmp_path / "other.jsonl"
    other.write_text('{"schema": 99}\n')
    assert failing(capsys, monkeypatch, "show", str(other)) == (
        1,
        f"Error: {other}, line 1: trajectory schema 99 is not known; this gem-core reads 1 and 2\n",
    )
    other.write_text("")
    code, shown = failing(capsys, monkeypatch, "show", str(other), "4")
    assert (code, "has no episode 4" in shown) == (1, True)


def test_an_unwritable_file_is_an_error_not_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operating-system errors are shown like all others."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, shown = failing(capsys, monkeypatch, "rollout", "test:Countdown-v0", "--out", str(blocked / "runs.jsonl"))
    assert code == 1
    assert "Traceback" not in shown


def test_pictures_are_named_and_not_spelled_out() -> None:
    """Content parts are shown as their text, and a picture as what it is."""
    parts = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    assert as_text(parts) == "Look.\n[image_url]"
    assert as_text("plain") == "plain"
    assert as_text([1, 2]) == "[1, 2]"


def test_doctor_names_plugins_as_well(site: PluginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings wrappers or commands alone is listed beside those that bring environments."""
    monkeypatch.setattr(diagnosis, "diagnose", lambda progress: [])  # it imports every package that is installed
    site.add("my-wrappers", "[gem.plugins]\nmine = my_wrappers\n", {"my_wrappers.py": ""})
    shown = CliRunner().invoke(cli, ["doctor", "--json"])
    assert "my-wrappers" in [package["package"] for package in json.loads(shown.output)["packages"]]


class Patient(Policy[Any, Any]):
    """A policy that needs no environment."""

    async def act(self, observation: Any, info: Info) -> str:
        return "wait"


class Interrupting(Patient):
    """Sends Ctrl-C in the fourth episode, which then never ends, nor does any later one."""

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.seed = seed

    async def act(self, observation: Any, info: Info) -> str:
        if self.seed == 3:
            os.kill(os.getpid(), signal.SIGINT)
        if self.seed >= 3:
            await asyncio.Event().wait()
        return "wait"


def test_rollout_takes_a_policy_of_one_s_own(tmp_path: Path) -> None:
    """--agent module:Class, with groups, a limit of turns, and retries."""
    out, own = tmp_path / "own.jsonl", f"{__name__}:Patient"
    options = ("--group", "2", "--concurrency", "3", "--max-turns", "2", "--retries", "1", "--out", str(out), "--json")
    report = json.loads(invoke("rollout", "test:Countdown-v0", "--agent", own, "--episodes", "6", *options).output)
    assert report["environments"][0]["episodes"] == 6
    assert report["interrupted"] is False
    recorded = list(read_trajectories(out))
    assert sorted((t.seed, t.repetition) for t in recorded) == [(s, r) for s in range(3) for r in range(2)]
    assert all(t.agent == own and len(t) <= 2 for t in recorded)


def test_ctrl_c_keeps_every_finished_episode(tmp_path: Path) -> None:
    """The episodes that had finished are recorded and counted, the summary is printed, and the exit code is 130."""
    out = tmp_path / "cut.jsonl"
    before = signal.getsignal(signal.SIGINT)
    command = ["rollout", "test:Countdown-v0", "--agent", f"{__name__}:Interrupting", "--concurrency", "1", "--json"]
    result = CliRunner().invoke(cli, [*command, "--max-turns", "2", "--out", str(out)])
    assert result.exit_code == 130
    report = json.loads(result.output)
    assert report["interrupted"] is True
    recorded = list(read_trajectories(out))
    assert [t.seed for t in recorded] == [0, 1, 2]
    assert report["environments"][0]["episodes"] == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_a_file_of_several_agents_ends_with_a_row_for_each(tmp_path: Path) -> None:
    """Mean return, share of successes and turns, from the episodes of that agent alone."""
    path = str(tmp_path / "episodes.jsonl")
    for agent in ("random", "null"):
        invoke("rollout", "test:Words-v0", "--agent", agent, "--episodes", "3", "--out", path)
    rows = [line.split() for line in invoke("show", path).output.splitlines() if line.startswith("test:Words-v0")]
    assert [row[1:4] for row in rows] == [["null", "3", "-0.100"], ["random", "3", "1.000"]]
    alone = invoke("show", path, "--json").output
    assert [item["success"] for item in json.loads(alone)] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("width", [20, 40, 60, 80, 140])
def test_a_table_breaks_no_word_at_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id stays in one line, also where the columns do not fit side by side."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    table = Table(("environment", "text", "turns"), right=("turns",))
    table.add_row("game:GuessTheNumber-v0-easy", "a sentence of several words", "12")
    table.show()
    words = click.unstyle(capsys.readouterr().out).replace(",", " ").split()
    for word in ("game:GuessTheNumber-v0-easy", *["a", "sentence", "of", "several", "words", "12"]):
        assert word in words


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_sentence_keeps_its_words_and_commands_whole(width: int) -> None:
    """What is quoted or begins like a command stays in one line, however long it is; boards stay as they are."""
    sentence = "no environment 'game:Sudoko v0'; run: pip install gem-envs-games; see /a/very/long/path/with/no/blanks."
    lines = wrapped(sentence, width).splitlines()
    assert " ".join(lines) == sentence
    for whole in ("'game:Sudoko v0'", "pip install gem-envs-games", "/a/very/long/path/with/no/blanks"):
        assert any(whole in line for line in lines)
    assert wrapped("a  b\n  c", width) == "a  b\n  c"


def test_the_help_lists_each_command_where_its_users_look() -> None:
    """Every command of this project is in one section; a plugin's that nobody here knows is below its own heading."""
    from gem.discovery.official import COMMANDS as OFFICIAL
    from gem_cli.main import COMMANDS, SECTIONS

    placed = [name for names in SECTIONS.values() for name in names]
    assert len(placed) == len(set(placed))
    assert set(placed) == {name for name in (*COMMANDS, *OFFICIAL) if " " not in name}
    assert len(SECTIONS) <= 11
    shown = invoke("--help").output
    places = [shown.index(f"\n{title}:\n") for title in SECTIONS]
    assert places == sorted(places)
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals between processes")
def test_ctrl_c_twice_shows_no_traceback() -> None:
    """The second one, while the process ends, ends it at once."""
    program = """
import atexit, os, signal
import click
from gem_cli import main

def interrupted(**options):
    raise click.Abort

main.cli.main = interrupted
atexit.register(os.kill, os.getpid(), signal.SIGINT)
main.run()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.strip() == "Interrupted."
    assert done.returncode == -signal.SIGINT


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_progress_bar_on_a_terminal_needs_no_note() -> None:
    """A task has a note beside its bar, or none, and what a note holds is no markup."""
    import pty

    program = """
from gem_cli.progress import progress

with progress() as bar:
    bar.add_task("bare", total=2)
    bar.add_task("noted", total=2, note="[/bold]")
    bar.refresh()
"""
    pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal, os.fdopen(theirs, "wb") as stderr:
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            timeout=60,
            check=False,
        )
        shown = os.read(terminal.fileno(), 1 << 16).decode()
    assert done.returncode == 0, shown
    assert "bare" in shown
    assert "[/bold]" in shown
