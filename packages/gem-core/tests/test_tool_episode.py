"""Tools that know their episode, async tools, and several calls of one message at once."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest

from gem.core import Env, Info
from gem.errors import NotSupportedError, ToolError
from gem.tools import FromEpisode, Tool, ToolEnvWrapper, ToolResult, tool


class Rooms(Env[str, str]):
    """Has a room in each episode."""

    room = ""
    closed = False

    @property
    def episode_values(self) -> Mapping[str, Any]:
        return {"room": self.room}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.room = f"room {self.rng.randrange(10**9)}"
        return "task", {"door": "open"}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "next", 0.0, False, False, {}

    def get_state(self) -> dict[str, Any]:
        return {"room": self.room}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.room = state["room"]

    def close(self) -> None:
        self.closed = True


class Guide(Tool):
    """Tells what it knows of the episode, and remembers the order of events."""

    name = "guide"
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.room = ""

    def reset(self, env: Env[Any, Any], info: Mapping[str, Any]) -> None:
        self.room = env.episode_values["room"]
        self.events.append(("reset", env.unwrapped.room == self.room, dict(info)))

    def end_episode(self) -> None:
        self.events.append("end")

    def close(self) -> None:
        self.events.append("close")

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        return ToolResult(self.room)


def block(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def message(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    native = [{"id": str(n), "function": {"name": name, "arguments": a}} for n, (name, a) in enumerate(calls)]
    return {"role": "assistant", "content": None, "tool_calls": native}


def test_a_tool_that_asks_gets_the_environment_and_its_info() -> None:
    """After the environment's own reset; the episode before has ended by then."""
    env = ToolEnvWrapper(Rooms(), [Guide])
    guide = env.tools[0]
    assert isinstance(guide, Guide)
    env.reset(seed=1)
    first = env.step(block("guide"))[0]
    env.reset()
    assert guide.events == ["end", ("reset", True, {"door": "open"}), "end", ("reset", True, {"door": "open"})]
    assert env.step(block("guide"))[0] == env.room != first
    env.close()
    assert guide.events[-2:] == ["end", "close"]


def test_a_reset_with_an_impossible_seed_ends_nothing() -> None:
    """The episode goes on."""
    env = ToolEnvWrapper(Rooms(), [Guide])
    env.reset(seed=1)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    assert env.tools[0].events == ["end", ("reset", True, {"door": "open"})]  # type: ignore[attr-defined]


def test_the_episode_ends_before_the_environment_closes_even_if_a_tool_fails() -> None:
    """The environment and the tools are closed all the same."""

    class Stubborn(Guide):
        def end_episode(self) -> None:
            super().end_episode()
            raise RuntimeError("no")

    rooms, stubborn = Rooms(), Stubborn()
    with pytest.raises(RuntimeError, match="no"):
        ToolEnvWrapper(rooms, [stubborn]).close()
    assert (rooms.closed, stubborn.events) == (True, ["end", "close"])


def test_a_state_set_begins_the_episode_of_such_tools() -> None:
    """A twin that never was reset knows the values of the state's episode."""
    env = ToolEnvWrapper(Rooms(), [Guide])
    env.reset(seed=1)
    twin = env.spawn(same_state=True)
    assert twin.step(block("guide"))[0] == env.step(block("guide"))[0] == env.room


def test_every_environment_has_a_folder_and_a_seed() -> None:
    """The folder is empty, one for all who use it, and gone after the episode; the seed follows the environment's."""
    env = ToolEnvWrapper(ToolEnvWrapper(Rooms(), []), [])
    env.reset(seed=1)
    folder, seed = Path(env.episode_values["dir"]), env.episode_values["seed"]
    assert env.env.episode_values["dir"] == str(folder)
    assert list(folder.iterdir()) == []
    (folder / "file").write_text("x")
    assert set(env.episode_values) == {"room", "dir", "seed"}
    assert "nothing" not in env.episode_values
    env.reset(seed=2)
    assert not folder.exists()
    assert env.episode_values["seed"] != seed
    second = Path(env.episode_values["dir"])
    env.reset(seed=1)
    assert env.episode_values["seed"] == seed
    env.close()
    assert not second.exists()


def test_the_seed_does_not_change_the_environments_numbers() -> None:
    """Nothing is drawn from its generator."""
    one, two = Rooms(), ToolEnvWrapper(Rooms(), [])
    one.reset(seed=5)
    two.reset(seed=5)
    assert 0 <= two.episode_values["seed"] < 2**31
    one.reset()
    two.reset()
    assert one.room == two.room


def test_an_environments_own_folder_wins() -> None:
    """What the environment offers is used in place of a new folder, and is not removed."""

    class Owner(Rooms):
        @property
        def episode_values(self) -> Mapping[str, Any]:
            return {"dir": str(Path(__file__).parent)}

    env = ToolEnvWrapper(Owner(), [])
    env.reset()
    assert env.episode_values["dir"] == str(Path(__file__).parent)
    env.close()
    assert Path(__file__).exists()


def test_a_missing_value_is_named() -> None:
    """With those that there are; the mapping's own methods work as usual."""
    values = ToolEnvWrapper(Rooms(), []).episode_values
    with pytest.raises(ToolError, match=r"no value 'db'; it has room, dir, seed"):
        values["db"]
    assert values.get("db", 3) == 3
    assert len(values) == 3


def test_the_folder_goes_with_the_process_and_not_with_a_copy() -> None:
    """A pickled or forked copy leaves it alone, and the end of the process removes it."""
    env = ToolEnvWrapper(Rooms(), [])
    folder = Path(env.episode_values["dir"])
    again = pickle.loads(pickle.dumps(env))
    other = Path(again.episode_values["dir"])
    again.close()
    assert folder.exists()
    assert not other.exists()
    code = (
        "import os, sys\n"
        "from gem.core import Env\n"
        "class E(Env):\n"
        "    def reset(self, seed=None, options=None): return '', {}\n"
        "    def step(self, action): return '', 0.0, False, False, {}\n"
        "from gem.tools import ToolEnvWrapper\n"
        "env = ToolEnvWrapper(E(), [])\n"
        "folder = env.episode_values['dir']\n"
        "child = os.fork()\n"
        "if not child: sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "print(folder, os.path.exists(folder))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    path, existed = done.stdout.split()
    assert existed == "True"
    assert not Path(path).exists()
    env.close()


@tool
def enter(door: int, room: Annotated[str, FromEpisode()], where: Annotated[str, FromEpisode("dir")]) -> str:
    """Enter by a door."""
    return f"{door} {room} {Path(where).is_dir()}"


def test_a_function_gets_values_that_the_agent_does_not_see() -> None:
    """They are not in the schema, and the agent cannot give them."""
    assert list(enter.to_openai()["function"]["parameters"]["properties"]) == ["door"]
    env = ToolEnvWrapper(Rooms(), [enter])
    env.reset(seed=1)
    assert env.step(block("enter", door=3))[0] == f"3 {env.room} True"
    assert "Extra inputs" in env.step(block("enter", door=3, room="mine"))[0]
    env.close()


def test_environments_that_share_a_function_do_not_share_its_values() -> None:
    """Nor do copies: spawned, copied and pickled."""
    envs = [ToolEnvWrapper(Rooms(), [enter]) for _ in range(2)]
    envs.append(envs[0].spawn())
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    envs += [pickle.loads(pickle.dumps(envs[0])), copy.deepcopy(envs[1])]
    for env in envs:
        env.reset()
    assert [env.step(block("enter", door=0))[0].split(" True")[0] for env in envs] == [f"0 {env.room}" for env in envs]
    for env in envs:
        env.close()


def test_a_value_that_the_environment_lacks_is_an_error_of_the_reset() -> None:
    """It is the author's, not the agent's; a parameter with a default does without."""

    def need(db: Annotated[str, FromEpisode()]) -> str:
        return db

    def like(db: Annotated[str, FromEpisode()] = "none") -> str:
        return db

    with pytest.raises(ToolError, match=r"tool need: the parameter db needs the value 'db'"):
        ToolEnvWrapper(Rooms(), [need]).reset()
    env = ToolEnvWrapper(Rooms(), [like])
    env.reset()
    assert env.step(block("like"))[0] == "none"


@tool
async def slow(number: int) -> int:
    """Return the number later."""
    await asyncio.sleep(0)
    return number * 2


def test_async_functions_and_methods_are_tools() -> None:
    """Their results and errors are those of any tool; calling the function itself still gives a coroutine."""

    class Later(Tool):
        name = "later"
        parameters: Mapping[str, Any] = {"type": "object", "properties": {}}

        async def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
            await asyncio.sleep(0)
            return ToolResult("later")

    async def broken() -> str:
        raise ValueError("it broke")

    env = ToolEnvWrapper(Rooms(), [slow, Later, broken])
    env.reset()
    assert env.step(block("slow", number=4))[0] == "8"
    assert env.step(block("later"))[0] == "later"
    assert env.step(block("broken"))[0] == "broken failed: ValueError: it broke"
    assert asyncio.run(slow(2)) == 4


def test_async_tools_share_one_loop_which_is_not_the_callers() -> None:
    """So a client made in one call serves the next, and a caller inside a loop is no obstacle."""
    loops: list[object] = []

    async def loop() -> str:
        loops.append(asyncio.get_running_loop())
        return "x"

    env = ToolEnvWrapper(Rooms(), [loop])
    env.reset()

    async def caller() -> object:
        env.step(block("loop"))
        return asyncio.get_running_loop()

    own = asyncio.run(caller())
    env.step(block("loop"))
    assert loops[0] is loops[1] is not own


def test_an_async_tool_that_waits_for_another_is_refused() -> None:
    """It would wait for itself."""
    inner = ToolEnvWrapper(Rooms(), [slow])
    inner.reset()

    async def outer() -> str:
        return str(inner.step(block("slow", number=1))[0])

    env = ToolEnvWrapper(Rooms(), [outer])
    env.reset()
    assert NotSupportedError.__name__ in env.step(block("outer"))[0]


def test_a_forked_child_has_a_loop_of_its_own() -> None:
    """The parent's thread is not there."""
    code = (
        "import os\n"
        "from gem.tools import tool\n"
        "async def f() -> int: return 7\n"
        "f = tool(f)\n"
        "assert f.execute({}).text == '7'\n"
        "child = os.fork()\n"
        "if not child: os._exit(f.execute({}).text != '7')\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_parallel_calls_run_at_the_same_time_and_keep_their_order() -> None:
    """Each waits until the other has come, which one after the other never could."""
    together = threading.Barrier(3, timeout=30)

    @tool(parallel=True)
    def meet(name: str) -> str:
        together.wait()
        return name

    env = ToolEnvWrapper(Rooms(), [meet])
    env.reset()
    calls = [("meet", {"name": name}) for name in "abc"]
    info = env.step(message(*calls))[4]
    assert [result["text"] for result in info["tool_results"]] == ["a", "b", "c"]
    assert [result["tool_call_id"] for result in info["tool_results"]] == ["0", "1", "2"]
    text = "".join(f"<tool_call>{json.dumps({'name': 'meet', 'arguments': given})}</tool_call>" for _, given in calls)
    assert env.step(text)[0] == "Result of meet:\na\n\nResult of meet:\nb\n\nResult of meet:\nc"


def test_a_call_that_is_not_parallel_runs_alone_in_its_place() -> None:
    """In the thread of the step, after all calls before it and before all after it."""
    together = threading.Barrier(2, timeout=30)
    seen: list[tuple[str, bool]] = []

    @tool(parallel=True)
    def look(name: str) -> str:
        together.wait()
        seen.append((name, False))
        return name

    @tool
    def write(name: str) -> str:
        seen.append((name, threading.current_thread() is threading.main_thread()))
        return name

    env = ToolEnvWrapper(Rooms(), [look, write], max_tool_uses=None)
    env.reset()
    order = ["look", "look", "write", "write", "look", "look", "write"]
    info = env.step(message(*[(name, {"name": str(index)}) for index, name in enumerate(order)]))[4]
    assert [result["text"] for result in info["tool_results"]] == list("0123456")
    assert [sorted(seen[:2]), *seen[2:4], sorted(seen[4:6]), seen[6]] == [
        [("0", False), ("1", False)],
        ("2", True),
        ("3", True),
        [("4", False), ("5", False)],
        ("6", True),
    ]


def test_all_blocks_of_a_text_are_carried_out() -> None:
    """In order, with a heading each; what fails does not stop the rest."""
    env = ToolEnvWrapper(Rooms(), [enter, slow], tool_reward=0.5, max_tool_uses=4)
    env.reset(seed=1)
    text = f"{block('slow', number=1)} {block('nope')}<tool_call>{{</tool_call>{block('slow', number=3)}"
    observation, reward, *_, info = env.step(f"I think. {text} And so on.")
    assert observation.startswith("Result of slow:\n2\n\nResult of the call of 'nope':\nThere is no tool")
    assert "Result of the call of an unnamed tool:\nThe content of <tool_call> cannot be read" in observation
    assert [result["ok"] for result in info["tool_results"]] == [True, False, False, True]
    assert (info["parsed_action"], info["tool_use_counter"], reward) == (f"I think. {text}", 4, 1.0)


def test_blocks_beyond_the_limit_are_answered_but_not_carried_out() -> None:
    """As native calls are; earlier uses count."""
    env = ToolEnvWrapper(Rooms(), [slow], max_tool_uses=2)
    env.reset()
    env.step(block("slow", number=0))
    observation, *_, info = env.step(block("slow", number=1) + block("slow", number=2))
    assert "not carried out" in observation
    assert [result["ok"] for result in info["tool_results"]] == [True, False]
    assert info["tool_use_counter"] == 2


def test_a_call_in_a_syntax_of_its_own_before_the_blocks_is_answered_alone() -> None:
    """As published: one such call a text."""

    @tool(tag="say")
    def say(text: str) -> str:
        return text

    env = ToolEnvWrapper(Rooms(), [slow, say])
    env.reset()
    blocks = block("slow", number=1) + block("slow", number=2)
    assert env.step(f"<say>hello</say> {blocks}")[0] == "hello"
    assert env.step(f"{blocks} <say>hello</say>")[0] == "Result of slow:\n2\n\nResult of slow:\n4"


def test_arguments_in_xml_get_the_types_of_the_tool() -> None:
    """Also those that no conversion of a function's arguments would accept from a text."""

    @tool
    def plot(points: list[int], options: dict[str, bool], title: str) -> str:
        return repr((points, options, title))

    class Plain(Tool):
        name = "plain"
        parameters: Mapping[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}

        def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
            return ToolResult(repr(arguments["n"]))

    env = ToolEnvWrapper(Rooms(), [plot, Plain])
    env.reset()
    call = (
        "<tool_call>\n<function=plot>\n<parameter=points>\n[1, 2]\n</parameter>\n<parameter=options>\n"
        '{"grid": true}\n</parameter>\n<parameter=title>\n42\n</parameter>\n</function>\n</tool_call>'
    )
    assert env.step(call)[0] == "([1, 2], {'grid': True}, '42')"
    assert env.step("<tool_call>plain<arg_key>n</arg_key><arg_value>7</arg_value></tool_call>")[0] == "7"


def test_anthropic_messages_are_answered_by_id() -> None:
    """Text beside the calls is no call."""
    env = ToolEnvWrapper(Rooms(), [slow])
    env.reset()
    part = {"type": "tool_use", "id": "toolu_1", "name": "slow", "input": {"number": 5}}
    info = env.step({"role": "assistant", "content": [{"type": "text", "text": "I look."}, part]})[4]
    assert info["tool_results"] == [{"tool_call_id": "toolu_1", "name": "slow", "text": "10", "ok": True, "data": 10}]
