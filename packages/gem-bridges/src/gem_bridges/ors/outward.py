"""Environments of GEM as environments of the Open Reward Standard (ORS), for the server of ``openreward``.

Importing this module imports ``openreward``. A server is what that library takes for one::

    from gem_bridges.ors.outward import ors_environment
    from openreward.environments import Server

    Server([ors_environment("game:Wordle-v0")]).run(port=8080)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import gem
from gem.arguments import integer, seed_value, string
from gem.core import Env
from gem.discovery.official import install_line
from gem.errors import ArgumentError
from gem.faults import is_fault
from gem.multiagent import MultiAgentEnv

try:
    from openreward.environments import Environment, ImageBlock, Split, TextBlock, ToolOutput, terminal, tool
    from pydantic import BaseModel, ConfigDict
except ModuleNotFoundError as error:
    line = install_line("'gem-bridges[ors]'")
    raise ModuleNotFoundError(f"environments of ORS need openreward; run: {line}", name="openreward") from error

__all__ = ["ORSEnvironment", "ors_environment"]


class ORSEnvironment(Environment):
    """An environment of GEM in a session of an ORS server: one episode, whose task is a seed.

    The tool ``act`` plays a text and returns the next observation. Where an episode is one turn, the tool is ``answer``
    and terminal: the agent's first message is the answer. The tools of a :class:`gem.tools.ToolEnvWrapper` are tools
    here too, unless their name is an attribute of this class. ``metadata`` has the turn's ``terminated``, ``truncated``
    and ``info``. A fault of the environment ends the session with an error.
    """

    env_id: ClassVar[str]
    server_name: ClassVar[str]
    env_args: ClassVar[Mapping[str, Any]]
    seeds: ClassVar[Mapping[str, range]]
    """Name of a split → the seeds of its tasks."""

    def __init__(self, task_spec: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(task_spec), dict(secrets or {}))
        if "seed" not in task_spec:
            raise ArgumentError(f"a task of {self.env_id} is an object with a seed, got {dict(task_spec)!r:.200}")
        self._seed = seed_value(task_spec["seed"])
        self._env: Env[Any, Any] | None = None
        self._observation: Any = ""

    @classmethod
    def name(cls) -> str:
        return cls.server_name

    @classmethod
    def list_splits(cls) -> list[Any]:
        return [Split(name=name, type=name) for name in cls.seeds]

    @classmethod
    def num_tasks(cls, split: str) -> int:
        return len(cls.seeds[split])

    @classmethod
    def list_tasks(cls, split: str) -> list[Any]:
        return cls.get_task_range(split)

    @classmethod
    def get_task(cls, split: str, index: int) -> Any:
        """Return a task; IndexError for one that does not exist."""
        seed = cls.seeds[split][index]
        return {"id": f"{cls.env_id}#{seed}", "seed": seed}

    @classmethod
    def get_task_range(cls, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        return [{"id": f"{cls.env_id}#{seed}", "seed": seed} for seed in cls.seeds[split][start:stop]]

    def setup(self) -> None:
        """Begin the episode."""
        self._env = gem.make(self.env_id, **self.env_args)
        self._observation, _ = self._env.reset(self._seed)

    def get_prompt(self) -> list[Any]:
        return _blocks(self._observation)

    def teardown(self) -> None:
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def played(self, action: Any) -> ToolOutput:
        """Play an action; RuntimeError if the environment fails."""
        if self._env is None:
            raise RuntimeError("the episode has not begun")
        observation, reward, terminated, truncated, info = self._env.step(action)
        if is_fault(terminated, truncated, info):
            raise RuntimeError(f"the environment failed: {info['error']}")
        return ToolOutput(
            blocks=_blocks(observation),
            reward=float(reward),
            finished=terminated or truncated,
            metadata={"terminated": terminated, "truncated": truncated, "info": info},
        )


def ors_environment(
    env_id: str,
    *,
    name: str | None = None,
    tasks: int = 1000,
    first_seed: int = 0,
    env_args: Mapping[str, Any] | None = None,
) -> type[ORSEnvironment]:
    """Return the environment for ``openreward.environments.Server``.

    Args:
        env_id: an id of GEM with one agent, or the address of one that ``gem serve`` serves.
        name: by which clients ask for it; by default the id, with dots for slashes.
        tasks: number of tasks of each of the splits ``train`` and ``test``.
        first_seed: seed of the first task of ``train``; ``test`` follows.
        env_args: arguments of ``gem.make``.

    Raises:
        GemError: if the environment cannot be made.
        ArgumentError: if it has several agents.
    """
    count = integer("tasks", tasks, minimum=1)
    first = integer("first_seed", first_seed, minimum=0)
    arguments = dict(env_args or {})
    with gem.make(env_id, **arguments) as env:  # a wrong id is no failure of every session
        if isinstance(env.unwrapped, MultiAgentEnv):
            raise ArgumentError(f"{env_id} has several agents, and a session of ORS has one")
        schemas = [schema["function"] for schema in getattr(env, "tool_schemas", ())]
        is_answer = env.spec is not None and env.spec.turns == "single" and not schemas
    members: dict[str, Any] = {
        "env_id": env_id,
        "server_name": env_id.replace("/", ".") if name is None else string("name", name),
        "env_args": arguments,
        "seeds": {"train": range(first, first + count), "test": range(first + count, first + 2 * count)},
        **(_texts("answer", "Give the answer.", terminal) if is_answer else _texts("act", "Play one turn.")),
    }
    for schema in schemas:
        if not hasattr(ORSEnvironment, schema["name"]) and schema["name"] not in members:
            members[schema["name"]] = _called(schema)
    return cast("type[ORSEnvironment]", type("GemEnvironment", (ORSEnvironment,), members))


class _Text(BaseModel, extra="forbid"):
    text: str


def _texts(name: str, about: str, *marks: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the tool that plays a text."""

    def play(self: ORSEnvironment, args: _Text) -> ToolOutput:
        return self.played(args.text)

    return {name: _tool(play, name, about, _Text, *marks)}


def _called(schema: Mapping[str, Any]) -> Any:
    """Return the tool that calls one of the environment's own."""

    class Arguments(BaseModel):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return dict(schema["parameters"])

    def call(self: ORSEnvironment, args: Arguments) -> ToolOutput:
        function = {"name": schema["name"], "arguments": args.model_extra or {}}
        calls = [{"id": "call_0", "type": "function", "function": function}]
        return self.played({"role": "assistant", "content": "", "tool_calls": calls})

    return _tool(call, schema["name"], schema.get("description", ""), Arguments)


def _tool(play: Any, name: str, about: str, arguments: type[BaseModel], *marks: Callable[[Any], Any]) -> Any:
    play.__name__, play.__doc__ = name, about
    play.__annotations__ = {"args": arguments, "return": ToolOutput}  # the server reads the schema from the types
    marked = tool(exclusive=True)(play)  # an environment plays one turn at a time
    for mark in marks:
        marked = mark(marked)
    return marked


def _blocks(observation: Any) -> list[Any]:
    if isinstance(observation, str):
        return [TextBlock(text=observation)]
    return [_block(part) for part in observation]


def _block(part: Mapping[str, Any]) -> Any:
    if part.get("type") == "text":
        return TextBlock(text=part["text"])
    url = part["image_url"]["url"]
    head, mark, data = url.partition(";base64,")
    if mark and head.startswith("data:image/"):
        return ImageBlock(data=data, mimeType=head.removeprefix("data:"))
    return TextBlock(text=f"[picture at {url}]")
