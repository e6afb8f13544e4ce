"""Recordings of episodes, as players of the format read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyte
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_rollout.trajectory import Trajectory, TrajectoryWriter, Transition
from gem_terminal import TerminalEnv
from gem_terminal.archive import file_archive
from gem_terminal.asciicast import COLUMNS, ROWS, Asciicast
from gem_terminal.cli.export import export_command
from gem_terminal.engines import Engine
from gem_terminal.recorded_sessions import asciicast_of
from gem_terminal.shells.shell import Shell
from gem_terminal.task import Image, ResourceLimits


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A native tool call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": name, "type": "function", "function": function}]}


def read(text: str) -> tuple[dict[str, Any], list[tuple[float, str, str]]]:
    """The header and the events of a recording."""
    header, *events = (json.loads(line) for line in text.splitlines())
    return header, [(at, code, data) for at, code, data in events]


def screens(events: list[tuple[float, str, str]]) -> list[str]:
    """What an independent terminal shows after each output."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream, shown = pyte.Stream(screen), []
    for _, code, data in events:
        if code == "o":
            stream.feed(data)
            shown.append("\n".join(line.rstrip() for line in screen.display).rstrip())
    return shown


def test_a_recording_shows_commands_files_and_the_terminal_in_the_order_of_the_episode(
    engine_variables: None, working_engine: Any, tmp_path: Path
) -> None:
    """Commands are shown with their output and exit code; the terminal takes the screen over and gives it back."""
    engine: Engine = working_engine("namespace")
    folder = tmp_path / "recordings of é"
    with TerminalEnv("ledger", engine=engine, recordings=folder) as env:
        _, info = env.reset(seed=0)
        env.step("<bash>echo $((40 + 2)); false</bash>")
        env.step(call("send_keys", keys=["echo $((50 + 5))", "Enter"]))
        env.step(call("write_file", path="/tmp/note", content="hello"))
        *_, last = env.step("<finish/>")
    assert last["recording"] == info["recording"]
    path = Path(info["recording"])
    assert path.parent == folder
    header, events = read(path.read_text(encoding="utf-8"))
    assert (header["version"], header["width"], header["height"], header["title"]) == (2, COLUMNS, ROWS, "ledger")
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert [data for _, code, data in events if code == "m"] == [
        "echo $((40 + 2)); false",
        "keys echo $((50 + 5)) Enter",
        "# write_file /tmp/note\nhello",
    ]
    assert "".join(data for _, code, data in events if code == "i") == "echo $((50 + 5))\r"
    shown = screens(events)
    assert "$ echo $((40 + 2)); false\n42\n[exit code 1]" in shown
    assert any("echo $((50 + 5))\n55\n" in text for text in shown)
    assert "55" not in shown[-1]
    assert shown[-1].endswith("> hello\nWritten to /tmp/note.")


def test_output_is_heard_while_a_command_runs(working_engine: Any, small: Image) -> None:
    """The command goes on only after its first output was heard."""
    engine: Engine = working_engine("namespace")
    heard: list[bytes] = []
    with engine.start(engine.prepare(small), ResourceLimits()) as container:

        def hear(data: bytes) -> None:
            if not heard:
                container.put(file_archive("go", b""), "/tmp")
            heard.append(data)

        line = "x" * 100  # the shell keeps back what could begin the mark of a command's end
        script = f"echo {line}; until [ -e /tmp/go ]; do sleep 0.05; done; echo end"
        done = Shell(container).run(script, 60.0, hear)
    assert done.output == f"{line}\nend\n"
    assert b"".join(heard).decode() == done.output


def test_each_episode_has_a_file_and_without_the_argument_there_is_none(
    engine_variables: None, working_engine: Any, tmp_path: Path
) -> None:
    """Two episodes of one environment do not write into one file."""
    engine = working_engine("namespace")
    with TerminalEnv("ledger", engine=engine, recordings=tmp_path, warm=0) as env:
        paths = {env.reset(seed=0)[1]["recording"] for _ in range(2)}
    assert len(paths) == 2
    with TerminalEnv("ledger", engine=engine) as env:
        assert "recording" not in env.reset(seed=0)[1]


def test_a_folder_that_cannot_be_made_is_an_error_of_the_argument(tmp_path: Path) -> None:
    """The message names the folder, before any episode."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="recordings must be a folder"):
        TerminalEnv("ledger", recordings=tmp_path / "file" / "below")


@given(st.lists(st.binary(max_size=40), max_size=8), st.text(max_size=40))
def test_any_output_in_any_pieces_is_valid_and_none_of_it_is_lost(pieces: list[bytes], command: str) -> None:
    """Characters that are cut in two are joined; what is no text becomes the replacement character."""
    cast = Asciicast("t")
    cast.command(0.0, command)
    for number, piece in enumerate(pieces):
        cast.output(float(number), piece)
    cast.note(9.0, "")
    _, events = read(cast.text())
    output = "".join(data for _, code, data in events[1:] if code == "o").replace("\x1b[2m\x1b[0m\r\n", "")
    expected = b"".join(pieces).decode(errors="replace").replace("\r\n", "\n").replace("\n", "\r\n")
    assert output.replace("\r", "").rstrip("\n") == expected.replace("\r", "").rstrip("\n")


def test_endless_output_is_cut_and_says_so() -> None:
    """A command that writes without end does not fill the disk of the trainer."""
    cast = Asciicast("t")
    cast.command(0.0, "yes")
    for _ in range(100):
        cast.output(1.0, b"y\n" * 50_000)
    assert len(cast.text()) < 2_000_000
    assert "more output is not recorded" in cast.text()


def recorded(*turns: tuple[Any, str], **fields: Any) -> Trajectory:
    """A recorded episode of actions and the observations after them."""
    shown = ["the task", *(after for _, after in turns)]
    transitions = [
        Transition(before, action, 0.0, False, False, act_seconds=1.0, step_seconds=0.5)
        for (action, _), before in zip(turns, shown, strict=False)
    ]
    return Trajectory(None, 3, transitions, final_observation=shown[-1], reset_info={"task": "t"}, **fields)


def test_a_recorded_trajectory_becomes_a_recording_of_what_the_agent_was_shown() -> None:
    """Commands with their results, screens in place of one another, at the times of the turns."""
    keys = call("send_keys", keys=["vi", "Enter"])
    trajectory = recorded(
        ("<bash>ls</bash>", "a b\n[exit code 0]"), (keys, "~\n~\n-- INSERT --"), ("what?", "Write one")
    )
    _, events = read(asciicast_of(trajectory))
    shown = screens(events)
    assert "$ ls\na b\n[exit code 0]" in shown
    assert "~\n~\n-- INSERT --" in shown
    assert shown[-1] == "$ # what?\nWrite one"
    assert [at for at, code, _ in events if code == "m"] == [1.0, 2.5, 4.0, 4.5]


def test_the_command_writes_both_files_for_each_episode_of_a_run(tmp_path: Path) -> None:
    """Names of environments do not lead out of the folder, and a second export overwrites nothing."""
    run = tmp_path / "run"
    run.mkdir()
    with TrajectoryWriter(run / "episodes.jsonl") as writer:
        writer.write(recorded(("<bash>ls</bash>", "a"), metadata={"label": "../../etc:x"}))
        writer.write(recorded(("<finish/>", "")))
    for _ in range(2):
        done = CliRunner().invoke(export_command, [str(run), "--to", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(files) == 8
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".json", ".cast"}
    assert {path.name for path in tmp_path.iterdir()} == {"run", "out"}
    done = CliRunner().invoke(export_command, [str(tmp_path), "--to", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "has no episodes.jsonl" in done.output


def test_a_recording_can_be_a_part_of_the_trajectory(engine: Engine) -> None:
    """With recordings=True it is in the last info alone, whole, and no file is written."""
    with TerminalEnv(task="ledger", engine=engine, recordings=True, warm=0) as env:
        _, info = env.reset()
        assert "asciicast" not in info
        assert "asciicast" not in env.step("<bash>echo said</bash>")[-1]
        *_, info = env.step("<finish/>")
        header, *events = map(json.loads, info["asciicast"].splitlines())
        assert header["version"] == 2
        assert "said\r\n" in "".join(data for _, kind, data in events if kind == "o")
        assert "recording" not in info
