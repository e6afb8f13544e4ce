"""``gem terminal shell``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from gem.errors import ArgumentError
from gem_cli.output import json_option, print_json
from gem_terminal.cli.options import engine_option, selection_options
from gem_terminal.cli.task_targets import Selection, readable, tasks_of

if TYPE_CHECKING:
    from gem_terminal.env import TerminalEnv

__all__ = ["shell_command"]

HELP = """Type a command of bash and press enter. Working directory, variables and background jobs stay.
  .keys TEXT KEY…   type into a terminal with a screen: .keys 'vi notes' Enter
  .read PATH        read a file
  .finish           finish the task and verify it
  .quit             leave without a result (so does ctrl-d)
  .help             show this help"""
_TURNS = 100_000
"""More turns than a person will type."""

_SECONDS = 600.0


@click.command("shell")
@click.argument("target", metavar="PATH|NAME")
@engine_option
@selection_options
@json_option
def shell_command(target: str, engine_name: str, selection: Selection, as_json: bool) -> None:
    """Try a task yourself: each typed line is an action of an episode.

    With --json the command prints one object at the end, with the typed lines, the observations and the result.

    \b
    Examples:
      gem terminal shell ledger
      gem terminal shell my-tasks/first --engine namespace
      echo 'ls -la' | gem terminal shell ledger
    """
    from gem_terminal.engines import engine_by_name
    from gem_terminal.env import TerminalEnv
    from gem_terminal.episodes.progress import showing

    tasks = readable(tasks_of((target,), selection))
    if len(tasks) > 1:
        raise ArgumentError(f"{target} holds {len(tasks)} tasks; choose one: {', '.join(task.name for task in tasks)}")
    task, engine = tasks[0], engine_by_name(engine_name)
    with showing(f"image of {task.name}") as tell:
        engine.prepare(task.image, tell)
    with TerminalEnv(
        path=task.folder,
        engine=engine,
        max_turns=_TURNS,
        command_seconds=_SECONDS,
        **selection.options.arguments(),
    ) as env:
        session = _Session(env, quiet=as_json)
        session.play()
    if as_json:
        print_json(session.report)


class _Session:
    """An interactive episode of a person."""

    def __init__(self, env: TerminalEnv, quiet: bool) -> None:
        self.env = env
        self.quiet = quiet
        self.report: dict[str, Any] = {"task": None, "turns": [], "reward": None, "success": None, "error": None}

    def play(self) -> None:
        _, info = self.env.reset()
        self.report["task"] = info["task"]
        self._show(self.env.task.instruction)
        self._show(HELP, dim=True)
        for line in self._lines():
            if line == ".quit":
                break
            if line == ".help":
                self._show(HELP, dim=True)
                continue
            try:
                action = _action(line)
            except ValueError as error:
                self._show(f"{error}; .help shows what there is", dim=True)
                continue
            if self._acts(line, action):
                return
        self._show("Left without a result.", dim=True)

    def _acts(self, line: str, action: dict[str, Any]) -> bool:
        """Play a turn; return whether it was the last."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        ended = terminated or truncated
        if "error" in info:
            self.report["error"] = info["error"]
            self._show(observation)
        elif not ended:
            self._show(observation)
            self.report["turns"].append({"typed": line, "observation": observation})
        else:
            self.report |= {
                "reward": reward,
                **{key: info.get(key) for key in ("success", "tests_passed", "tests_total")},
            }
            self.report["verifier_log"] = info.get("verifier_log", "")
            self._show(info.get("verifier_log", ""), dim=True)
            self._show(info.get("verifier_error", ""))
            self._show(f"Reward {reward:g}.")
        return ended

    def _lines(self) -> Iterator[str]:
        prompt = ""
        if sys.stdin.isatty() and not self.quiet:
            prompt = "$ "
            with suppress(ImportError):
                import readline  # noqa: F401  # gives input() a history and keys to edit with
        while True:
            try:
                line = input(prompt).strip()
            except EOFError:
                return
            except UnicodeDecodeError as error:
                raise ArgumentError(f"the input is not text: {error}; type or pipe {error.encoding}") from error
            if line:
                yield line

    def _show(self, text: str, dim: bool = False) -> None:
        if text and not self.quiet:
            click.secho(text.rstrip("\n"), dim=dim)


def _action(line: str) -> dict[str, Any]:
    """Return the typed line as an agent's message; raises ValueError for an invalid command."""
    if not line.startswith(".") or line.startswith((". ", "./", "../")):
        return _call("bash", command=line)
    name, _, rest = line.partition(" ")
    if name == ".finish":
        return _call("finish")
    if name == ".read" and rest:
        return _call("read_file", path=rest.strip())
    if name == ".keys" and rest:
        return _call("send_keys", keys=shlex.split(rest))
    raise ValueError(f"{line!r} is not a command")


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
