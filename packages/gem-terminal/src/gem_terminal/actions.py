"""The actions of an agent in a terminal, as text or as native tool calls.

In text, the first complete tag of an action counts::

    <bash>ls -la</bash>
    <bash>cmd: make
    timeout_secs: 120</bash>
    <finish/>

A YAML mapping with ``cmd`` inside ``<bash>`` has the meaning that the original GEM gives it. The native tools are
``bash``, ``send_keys``, ``read_file``, ``write_file`` and ``finish``; text can call them with ``<tool_call>``.

An environment with tools of its own describes them in another :class:`ActionKinds`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gem.text import action_text
from gem.tools.calls import ToolCall, native_calls, tagged, text_call
from gem_terminal.formats.yaml_text import yaml_of

__all__ = [
    "MCP_SCHEMA",
    "MOST_CALLS",
    "TERMINAL_ACTIONS",
    "TOOL_SCHEMAS",
    "ActionKinds",
    "Bash",
    "CallMcpTool",
    "Finish",
    "MalformedAction",
    "OtherAction",
    "ReadFile",
    "RequestedAction",
    "SendKeys",
    "TerminalAction",
    "WriteFile",
    "dump_action",
    "load_action",
    "parse_actions",
    "read_bash",
    "text_argument",
    "tool_schema",
]


@dataclass(frozen=True)
class Bash:
    """Run a command in the episode's shell."""

    command: str
    seconds: float | None = None


@dataclass(frozen=True)
class SendKeys:
    """Type into the terminal and look at its screen."""

    keys: tuple[str, ...]
    seconds: float | None = None
    wait: float | None = None
    """Seconds to wait at least."""


@dataclass(frozen=True)
class ReadFile:
    """Read a file."""

    path: str
    offset: int | None = None
    """Bytes to skip."""


@dataclass(frozen=True)
class WriteFile:
    """Write a file and replace its content."""

    path: str
    content: str


@dataclass(frozen=True)
class CallMcpTool:
    """Call a tool of one of the task's MCP servers."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Finish:
    """Declare the task done."""


@dataclass(frozen=True)
class MalformedAction:
    """An invalid action; ``why`` is a sentence for the agent."""

    why: str


@dataclass(frozen=True)
class OtherAction(ABC):
    """An action of another environment, which carries it out itself."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """What a recording shows at the prompt."""


CarriedAction = Bash | SendKeys | ReadFile | WriteFile | CallMcpTool | OtherAction
"""An action that is carried out in the container."""

TerminalAction = CarriedAction | Finish | MalformedAction


@dataclass(frozen=True)
class RequestedAction:
    """An action with its native call; the call is None for a text action."""

    action: TerminalAction
    call: ToolCall | None = None


@dataclass(frozen=True)
class ActionKinds:
    """The actions that an environment accepts."""

    kinds: Mapping[str, type[CarriedAction | Finish]]
    """The name of an action in records → its class."""
    readers: Mapping[str, Callable[[Mapping[str, Any]], TerminalAction]]
    """The name of a tool → what reads the arguments of a call; it raises TypeError for invalid ones."""
    schemas: tuple[dict[str, Any], ...]
    """The tools that an agent is told of, in the format of the ``tools`` argument of chat APIs."""
    last: str = "finish"
    """The tag of the last action in text: ``<finish/>``."""

    @property
    def nothing(self) -> MalformedAction:
        """The answer to a message without an action."""
        return MalformedAction(
            f"Write one command between <bash> and </bash>, or <{self.last}/> when the task is done."
        )


_YAML_BODY = re.compile(r"\s*(?:cmd|timeout_secs)\s*:")
_LONGEST_YAML = 1 << 14
"""Characters; a longer body counts as a command, because parsing it as YAML could take seconds."""

MOST_CALLS = 16
"""The largest number of calls in one message that are carried out."""

_TOO_MANY = MalformedAction(f"Not carried out: one message may have {MOST_CALLS} calls.")


def tool_schema(name: str, description: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the format of chat APIs; a property without ``default`` is required."""
    required = [key for key, value in properties.items() if "default" not in value]
    parameters = {"type": "object", "properties": dict(properties), "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOL_SCHEMAS: tuple[dict[str, Any], ...] = (
    tool_schema(
        "bash",
        "Run a command in a bash shell that persists through the whole task.",
        command={"type": "string", "description": "The command; it reads from /dev/null."},
        timeout_secs={"type": "number", "description": "Time limit in seconds.", "default": 30},
    ),
    tool_schema(
        "send_keys",
        "Type into a separate terminal, for interactive programs, and see what changes on its screen. Without keys you "
        "see the whole screen.",
        keys={
            "type": "array",
            "items": {"type": "string"},
            "description": "Text, and tmux names of keys: Enter, C-c, Up, Escape, …",
        },
        timeout_secs={
            "type": "number",
            "description": "Seconds to wait at most until the program has ended or reads the next keys.",
            "default": 5,
        },
        wait_secs={"type": "number", "description": "Seconds to wait at least.", "default": 0},
    ),
    tool_schema(
        "read_file",
        "Read a text file. The middle of a long file is cut out; with an offset the file is shown from there on.",
        path={"type": "string", "description": "An absolute path."},
        offset={"type": ["integer", "null"], "description": "Bytes to skip.", "default": None},
    ),
    tool_schema(
        "write_file",
        "Write a text file and replace its content. Missing folders are made.",
        path={"type": "string", "description": "An absolute path."},
        content={"type": "string", "description": "The whole content of the file."},
    ),
    tool_schema("finish", "Finish the task; its tests then verify it."),
)
"""The actions in the format of the ``tools`` argument of chat APIs."""

MCP_SCHEMA = tool_schema(
    "mcp_call",
    "Call a tool of an MCP server of the task. The task lists the tools with their arguments.",
    tool={"type": "string", "description": "The name of the tool."},
    arguments={"type": "object", "description": "The arguments of the tool.", "default": {}},
)
"""The further action of tasks that bring MCP servers."""


def parse_actions(action: object, kinds: ActionKinds | None = None) -> list[RequestedAction]:
    """Parse an agent's message into its actions, in order, at least one.

    Any object is accepted. The time is linear in the length of the text.

    Args:
        action: the message.
        kinds: the possible actions; None for :data:`TERMINAL_ACTIONS`.
    """
    kinds = kinds or TERMINAL_ACTIONS
    if not isinstance(action, str) and (calls := native_calls(action)):
        carried_out = [RequestedAction(_of_call(call, kinds), call) for call in calls[:MOST_CALLS]]
        return carried_out + [RequestedAction(_TOO_MANY, call) for call in calls[MOST_CALLS:]]
    text = action_text(action)
    return [RequestedAction(kinds.nothing if text is None else _of_text(text, kinds))]


def dump_action(action: CarriedAction | Finish, kinds: ActionKinds | None = None) -> dict[str, Any]:
    """Return an action as a JSON object that :func:`load_action` reads."""
    known = (kinds or TERMINAL_ACTIONS).kinds
    name = next(name for name, kind in known.items() if kind is type(action))
    return {"action": name, **asdict(action)}


def load_action(record: Mapping[str, Any], kinds: ActionKinds | None = None) -> CarriedAction | Finish:
    """Return the action of a record; raises ValueError, TypeError or LookupError for an invalid record."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
    }
    kind = (kinds or TERMINAL_ACTIONS).kinds[fields.pop("action")]
    return kind(**fields)


def _of_text(text: str, kinds: ActionKinds) -> TerminalAction:
    finish = re.search(rf"<{kinds.last}\s*/?>", text)
    bash = text.find("<bash>")
    found = tagged(text, "bash")
    if found is not None and (finish is None or bash < finish.start()):
        return _of_body(found[0])
    if finish is not None:
        return Finish()
    call = text_call(text)
    return kinds.nothing if call is None else _of_call(call, kinds)


def _of_body(body: str) -> TerminalAction:
    if not _YAML_BODY.match(body) or len(body) > _LONGEST_YAML:
        return Bash(body.strip("\n"))
    try:
        content = yaml_of(body)
    except ValueError:
        return Bash(body.strip("\n"))
    if not isinstance(content, dict) or not isinstance(content.get("cmd"), str):
        return MalformedAction("The content of <bash> looks like YAML and has no cmd that is a string.")
    return Bash(content["cmd"], _seconds(content.get("timeout_secs")))


def _of_call(call: ToolCall, kinds: ActionKinds) -> TerminalAction:
    if call.error is not None:
        return MalformedAction(call.error)
    read = kinds.readers.get(call.name) if isinstance(call.name, str) else None
    if read is None:
        names = ", ".join(schema["function"]["name"] for schema in kinds.schemas)
        return MalformedAction(f"There is no tool called {str(call.name)[:64]!r}. The tools are: {names}.")
    try:
        return read(call.arguments)
    except TypeError as error:
        return MalformedAction(f"{error}")


def read_bash(arguments: Mapping[str, Any]) -> Bash:
    """Return the command of a call of ``bash``; raises TypeError if there is none."""
    return Bash(text_argument(arguments, "command"), _seconds(arguments.get("timeout_secs")))


def text_argument(arguments: Mapping[str, Any], name: str) -> str:
    """Return an argument of a call that must be a string; raises TypeError with a sentence for the agent."""
    value = arguments.get(name)
    if not isinstance(value, str):
        raise TypeError(f"The argument {name} must be a string.")
    return value


def _send_keys(arguments: Mapping[str, Any]) -> TerminalAction:
    keys = arguments.get("keys")
    keys = [keys] if isinstance(keys, str) else keys
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return MalformedAction("The argument keys of send_keys must be a list of strings.")
    limits = (_seconds(arguments.get(name)) for name in ("timeout_secs", "wait_secs"))
    return SendKeys(tuple(keys), *limits)


def _mcp_call(arguments: Mapping[str, Any]) -> TerminalAction:
    given = arguments.get("arguments", {})
    if not isinstance(given, Mapping):
        return MalformedAction("The argument arguments of mcp_call must be an object.")
    return CallMcpTool(text_argument(arguments, "tool"), given)


TERMINAL_ACTIONS = ActionKinds(
    kinds={
        "bash": Bash,
        "send_keys": SendKeys,
        "read_file": ReadFile,
        "write_file": WriteFile,
        "mcp_call": CallMcpTool,
        "finish": Finish,  # of a step, after which the episode continues
    },
    readers={
        "bash": read_bash,
        "send_keys": _send_keys,
        "read_file": lambda given: ReadFile(text_argument(given, "path"), _offset(given.get("offset"))),
        "write_file": lambda given: WriteFile(text_argument(given, "path"), text_argument(given, "content")),
        "mcp_call": _mcp_call,
        "finish": lambda _: Finish(),
    },
    schemas=TOOL_SCHEMAS,
)
"""The actions of :class:`~gem_terminal.TerminalEnv`."""


def _offset(value: object) -> int | None:
    """Return a valid number of bytes, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1 << 53:
        return None
    return int(value)


def _seconds(value: object) -> float | None:
    """Return a valid time limit, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < 1e9 else None
