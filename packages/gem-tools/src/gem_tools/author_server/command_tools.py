"""The tools of the server, and the command line that each call stands for.

A call comes from a model. Each of its values is checked, and none can become an option or a command: options are
written ``--name=value``, the others follow ``--``, and no shell reads any of them. A path must lie in the working
folder after all links in it are followed. An address is no environment id here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from gem.errors import ArgumentError, InvalidIdError
from gem.ids import parse_id
from gem_tools.mcp.episodes import unknown_arguments
from gem_tools.mcp.schema_check import mismatch

__all__ = ["LONGEST_SECONDS", "MOST_EPISODES", "TOOLS", "CommandTool", "LimitedCommand", "ModelAddress", "command_line"]

LONGEST_SECONDS = 600
"""The largest time limit of a call."""

MOST_EPISODES = 256
"""The largest number of episodes of an evaluation."""

_QUICK_SECONDS = 60
"""The time limit of a call that plays no episodes."""

_CONCURRENCY = 8
"""Episodes of an evaluation that are played at a time."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CLAUSE = re.compile(r"[a-z][a-z_]*(\.[a-z_]+)*")


class ModelAddress(NamedTuple):
    """The model that evaluations may ask, chosen by the person who starts the server."""

    base_url: str
    name: str | None = None


class LimitedCommand(NamedTuple):
    """What a call runs."""

    arguments: tuple[str, ...]
    """Those of ``gem``."""
    seconds: float
    """Its time limit."""


class CommandTool(NamedTuple):
    """One tool."""

    name: str
    description: str
    properties: Mapping[str, Any]
    """JSON schemas of its arguments by name."""
    required: tuple[str, ...]
    line: Callable[[Mapping[str, Any], Path, ModelAddress | None], LimitedCommand]
    """From checked arguments and the working folder to the command line; raises ArgumentError."""
    reads_only: bool = True
    """Whether it writes no file and runs no episode."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


def command_line(
    tool: CommandTool, arguments: Mapping[str, Any], folder: Path, model: ModelAddress | None
) -> LimitedCommand:
    """Return the command line of a call.

    Args:
        tool: the tool.
        arguments: those of the call, of any kind.
        folder: the working folder, without links in its path.
        model: the model that evaluations may ask.

    Raises:
        ArgumentError: if an argument is missing, unknown, of another type, too large, or not allowed.
    """
    refused = unknown_arguments(tool.name, arguments, tool.schema)
    if refused is not None:
        raise ArgumentError(str(refused.content[0]["text"]).removeprefix("Error: "))
    wrong = mismatch(tool.schema, dict(arguments))
    if wrong is not None:
        raise ArgumentError(f"{tool.name}: {wrong}")
    return tool.line(arguments, folder, model)


def _list(given: Mapping[str, Any], folder: Path, model: ModelAddress | None) -> LimitedCommand:
    options = [f"--tag={_printable('tag', given['tag'])}"] if "tag" in given else []
    names = [_named("namespace", given["namespace"])] if "namespace" in given else []
    return LimitedCommand(("list", *options, "--", *names), _QUICK_SECONDS)


def _info(given: Mapping[str, Any], folder: Path, model: ModelAddress | None) -> LimitedCommand:
    return LimitedCommand(("info", f"--seed={int(given.get('seed', 0))}", "--", _id(given["id"])), _QUICK_SECONDS)


def _check(given: Mapping[str, Any], folder: Path, model: ModelAddress | None) -> LimitedCommand:
    for clause in given.get("clauses", ()):
        if _CLAUSE.fullmatch(clause) is None:
            raise ArgumentError(f"{clause!r} is not the name of a clause, such as 'determinism.instances'")
    clauses = [f"--clause={clause}" for clause in given.get("clauses", ())]
    attacks = ["--attacks"] if given.get("attacks", False) else []
    target = _target(given.get("target", "."), folder)
    return LimitedCommand(("check", *clauses, *attacks, "--", target), float(given.get("seconds", LONGEST_SECONDS)))


def _eval(given: Mapping[str, Any], folder: Path, model: ModelAddress | None) -> LimitedCommand:
    agent = given.get("agent", "reference")
    played = [f"--agent={agent}"]
    if agent == "model":
        if model is None:
            raise ArgumentError("this server has no model; start it with: gem skill serve --base-url URL")
        played = [f"--base-url={model.base_url}", *([f"--model={model.name}"] if model.name else [])]
    out = [f"--out={_inside(given['out'], folder)}"] if "out" in given else []
    numbers = (f"--episodes={int(given.get('episodes', 16))}", f"--seed={int(given.get('seed', 0))}")
    options = (*played, *numbers, f"--concurrency={_CONCURRENCY}", *out)
    return LimitedCommand(("eval", *options, "--", _id(given["id"])), float(given.get("seconds", LONGEST_SECONDS)))


def _show(given: Mapping[str, Any], folder: Path, model: ModelAddress | None) -> LimitedCommand:
    path = _inside(given["run"], folder)
    if path.is_dir():
        path = _inside(str(path / "episodes.jsonl"), folder)
    if not path.is_file():
        raise ArgumentError(f"{given['run']!r} is neither the folder of a run nor a file of recorded episodes")
    if "turn" in given and "episode" not in given:
        raise ArgumentError("a turn belongs to an episode; give its number as well")
    turn = [f"--turn={int(given['turn'])}"] if "turn" in given else []
    episode = [str(int(given["episode"]))] if "episode" in given else []
    return LimitedCommand(("show", *turn, "--", str(path), *episode), _QUICK_SECONDS)


def _id(text: str) -> str:
    try:
        parse_id(text)
    except InvalidIdError as error:
        raise ArgumentError(str(error)) from None
    return text


def _named(what: str, text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise ArgumentError(f"{text!r} is no {what}; write letters, digits, '.', '_' and '-'")
    return text


def _printable(what: str, text: str) -> str:
    if not text.isprintable():
        raise ArgumentError(f"the {what} {text!r} has characters that cannot be printed")
    return text


def _target(text: str, folder: Path) -> str:
    """Return what ``gem check`` is to test: an id, an installed name, or the whole path of a file or folder in here."""
    if not text.endswith(".toml"):  # which gem check reads as a path, whatever stands before it
        with suppress(ArgumentError):
            return _id(text)
        if _NAME.fullmatch(text) is not None and not (folder / text).exists():
            return text
    path = _inside(text, folder)
    if not path.exists():
        raise ArgumentError(f"{text!r} is no environment id, and no file or folder of the working folder")
    return str(path)


def _inside(text: str, folder: Path) -> Path:
    """Return the whole path of a file or folder in the working folder, with the links in it followed."""
    path = (folder / _printable("path", text)).resolve()
    if not path.is_relative_to(folder):
        raise ArgumentError(f"the path {text!r} leads out of the working folder {str(folder)!r}")
    return path


def _text(description: str, longest: int = 300) -> dict[str, Any]:
    return {"type": "string", "description": description, "minLength": 1, "maxLength": longest}


def _whole(description: str, minimum: int, maximum: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": minimum, "maximum": maximum}


_ENV_ID = _text("Environment id, such as game:Sudoku-v0-easy.")
_SEED = _whole("Seed; default 0.", 0, 2**31 - 1)
_SECONDS = _whole(f"Time limit; default {LONGEST_SECONDS}.", 1, LONGEST_SECONDS)

TOOLS = (
    CommandTool(
        "list",
        "List the installed environments by package, or those of one namespace or tag (gem list).",
        {"namespace": _text("The part of ids before the colon."), "tag": _text("Such as domain:games.")},
        (),
        _list,
    ),
    CommandTool(
        "info",
        "Describe an environment: arguments, rewards, rules, first observation (gem info).",
        {"id": _ENV_ID, "seed": _SEED},
        ("id",),
        _info,
    ),
    CommandTool(
        "check",
        "Test environments against every clause of GEM's contract; each violation is named with its place, the wrong "
        "value and the remedy, and makes exit code 1 (gem check).",
        {
            "target": _text(
                "Id, namespace, installed package, or path in the working folder; default: this folder.", 1000
            ),
            "clauses": {
                "type": "array",
                "items": _text("A clause or a group of clauses, such as determinism."),
                "maxItems": 64,
                "description": "Only these; default: all.",
            },
            "attacks": {"type": "boolean", "description": "Also attack the rewards."},
            "seconds": _SECONDS,
        },
        (),
        _check,
        reads_only=False,
    ),
    CommandTool(
        "eval",
        "Play episodes and report the mean return, success and errors; records the episodes in a folder (gem eval).",
        {
            "id": _ENV_ID,
            "agent": {
                "enum": ["reference", "random", "null", "model"],
                "description": "Who plays; default reference. 'model' is that with which the server was started.",
            },
            "episodes": _whole("Number of episodes; default 16.", 1, MOST_EPISODES),
            "seed": _SEED,
            "out": _text("New folder of the run; default runs/TIME-ENVIRONMENT-AGENT.", 1000),
            "seconds": _SECONDS,
        },
        ("id",),
        _eval,
        reads_only=False,
    ),
    CommandTool(
        "show",
        "Read recorded episodes as text: a table of all, or one turn by turn (gem show).",
        {
            "run": _text("Folder of a run, or file of recorded episodes.", 1000),
            "episode": _whole("Number of the episode, from 0; default: a table of all.", 0, 2**31 - 1),
            "turn": _whole("Only this turn, from 1.", 1, 2**31 - 1),
        },
        ("run",),
        _show,
    ),
)
"""The tools by name, in the order in which an agent needs them."""
