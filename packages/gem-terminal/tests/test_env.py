"""The environment on every engine: turns, actions, verification, failures, state."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError, StateError
from gem.text import TERMINAL_STATE
from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.errors import EngineError
from gem_terminal.oracle import OracleSolutionPolicy

FILES = {
    "task.toml": "[agent]\ntimeout_sec = 600.0\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n",
    "instruction.md": "Write hello into /desk/hello.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /desk\nWORKDIR /desk\n",
    "tests/test.sh": (
        "#!/bin/bash\nscore=0\n[ -e /desk/hello.txt ] && score=0.5\n"
        '[ "$(cat /desk/hello.txt)" = hello ] && score=1\necho $score > /logs/verifier/reward.txt\n'
    ),
    "solution/solve.sh": "echo hello > /desk/hello.txt\n",
}


def write_task(folder: Path, **files: str) -> Path:
    """Write the task, some of its files replaced."""
    for name, content in {**FILES, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def env(engine: Engine, tmp_path: Path) -> Iterator[TerminalEnv]:
    """The task of this file, begun."""
    made = TerminalEnv(path=write_task(tmp_path / "hello"), engine=engine, max_turns=20, strict=True)
    made.reset(seed=0)
    yield made
    made.close()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return an assistant message with one native call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


def screen_with(env: TerminalEnv, text: str, *keys: str) -> str:
    """Type keys and return the first screen that has a text, which may come some pauses after the keys were echoed."""
    observation, *_ = env.step(call("send_keys", keys=list(keys), timeout_secs=60))
    deadline = time.monotonic() + 60
    while text not in observation:
        assert time.monotonic() < deadline, observation
        observation, *_ = env.step(call("send_keys", keys=[], timeout_secs=60))
    return observation


@pytest.mark.every_engine
def test_the_task_is_done_and_verified(env: TerminalEnv) -> None:
    """A command changes the container, finishing runs the tests, and the reward is theirs."""
    observation, reward, terminated, truncated, info = env.step("I write it. <bash>echo hello > hello.txt; pwd</bash>")
    assert (observation, reward, terminated, truncated) == ("/desk\n[exit code 0]", 0.0, False, False)
    assert (info["exit_code"], info["turn"], info["action_status"]) == (0, 1, "legal")
    observation, reward, terminated, truncated, info = env.step("<finish/>")
    assert (observation, reward, terminated, truncated) == (TERMINAL_STATE, 1.0, True, False)
    assert (info["success"], info["rewards"]) == (True, {"reward": 1.0})
    with pytest.raises(EpisodeFinishedError, match="reset"):
        env.step("<finish/>")


def test_a_folded_history_brings_back_what_a_command_printed(env: TerminalEnv) -> None:
    """Unfolding runs no command and uses no turn; the episode ends as without it."""
    wrapped = gem.wrapper("fold", after_turns=1, keep_turns=1)(env)
    wrapped.reset(seed=0)
    wrapped.step("<bash>echo see https://example.org/a; seq 1 50 | tee numbers; echo hello > hello.txt</bash>")
    shown = wrapped.step("<bash>ls</bash>")[0]
    assert "https://example.org/a" in shown
    assert "\n50\n" not in shown
    shown, _, _, _, info = wrapped.step("What was it? <unfold>turn 1</unfold>")
    assert "\n50\n" in shown
    assert info == {"unfolded": ["turn 1"]}
    _, reward, terminated, _, info = wrapped.step("<finish/>")
    assert (reward, terminated, info["turn"]) == (1.0, True, 3)


def test_a_closed_environment_starts_no_container_for_a_step(env: TerminalEnv) -> None:
    """A step after close raises; reset, or the state of an episode, opens the environment again."""
    env.step("<bash>echo hello > hello.txt</bash>")
    state = env.get_state()
    env.close()
    with pytest.raises(ResetNeededError, match="closed"):
        env.step("<finish/>")
    env.set_state(state)
    assert env.step("<finish/>")[1] == 1.0


def test_nothing_done_earns_nothing(env: TerminalEnv) -> None:
    """Finishing at once is verified as well."""
    assert env.step("<finish/>")[1:3] == (0.0, True)


def test_a_part_earns_its_part_or_nothing(engine: Engine, tmp_path: Path) -> None:
    """The tests' number is the reward, unless all or nothing is asked for."""
    for kind, expected in (("fraction", 0.5), ("binary", 0.0)):
        with TerminalEnv(path=write_task(tmp_path / kind), engine=engine, reward=kind) as env:
            env.reset(seed=0)
            env.step("<bash>touch /desk/hello.txt</bash>")
            _, reward, *_, info = env.step("<finish/>")
            assert (reward, info["success"]) == (expected, False)


REPORT = (
    "#!/bin/bash\necho 0.25 > /logs/verifier/reward.txt\n"
    'echo \'{"results": {"tests": [{"name": "a", "status": "passed"}, {"name": "b", "status": "failed"}]}}\' '
    "> /logs/verifier/ctrf.json\n"
)


@pytest.mark.parametrize(("kind", "expected"), [("task", 0.25), ("fraction", 0.5), ("binary", 0.0)])
def test_tests_that_are_reported_one_by_one_can_be_the_reward(
    engine: Engine, tmp_path: Path, kind: str, expected: float
) -> None:
    """The task's own number, the share of its tests, or all or nothing; info has them all."""
    folder = write_task(tmp_path / "task", **{"tests/test.sh": REPORT})
    with TerminalEnv(path=folder, engine=engine, reward=kind) as env:
        env.reset(seed=0)
        _, reward, _, _, info = env.step("<finish/>")
    assert reward == expected
    assert (info["rewards"], info["tests_passed"], info["tests_total"]) == ({"reward": 0.25}, 1, 2)


@pytest.mark.parametrize("keep", [True, False])
def test_what_the_agent_has_started_goes_on_only_if_asked_for(engine: Engine, tmp_path: Path, keep: bool) -> None:
    """A task that verifies a server needs it; otherwise nothing of the agent's is alive when the tests begin."""
    script = "#!/bin/bash\nalive=0; kill -0 $(cat /desk/pid) && alive=1\necho $alive > /logs/verifier/reward.txt\n"
    folder = write_task(tmp_path / "task", **{"tests/test.sh": script})
    with TerminalEnv(path=folder, engine=engine, keep_processes=keep) as env:
        env.reset(seed=0)
        env.step("<bash>sleep 1000 & echo $! > /desk/pid</bash>")
        assert env.step("<finish/>")[1] == float(keep)


def test_instructions_can_be_left_to_the_tools(engine: Engine, tmp_path: Path) -> None:
    """A model that is given the tools by its chat API is not told of tags."""
    with TerminalEnv(path=write_task(tmp_path / "task"), engine=engine, instructions=False) as env:
        assert env.reset(seed=0)[0] == FILES["instruction.md"]
        assert {schema["function"]["name"] for schema in env.tool_schemas} >= {"bash", "finish"}


def test_native_calls_do_all_there_is(env: TerminalEnv) -> None:
    """Files are written and read, keys are typed, several calls in one message are carried out in order."""
    text = "hello\n" + "ü'\"$\\" * 9000
    env.step(call("write_file", path="/desk/big.txt", content=text))
    assert env.step(call("bash", command="wc -c < big.txt"))[0] == f"{len(text.encode())}\n[exit code 0]"
    assert "hello" in env.step(call("read_file", path="/desk/big.txt"))[0]
    assert "such file" in env.step(call("read_file", path="/nothing"))[0]
    for endless in ("/dev/zero", "/desk/pipe"):
        env.step(call("bash", command="[ -e pipe ] || mkfifo pipe"))
        assert "not a regular file" in env.step(call("read_file", path=endless))[0]
    assert "on the 42nd" in screen_with(env, "on the 42nd", "echo on the $((40 + 2))nd", "Enter")
    assert env.step(call("finish"))[2]


def test_each_native_call_has_its_own_result(env: TerminalEnv) -> None:
    """Several calls in a message are carried out in order up to the end of the task, and every one is answered."""
    calls = [
        ("bash", {"command": "echo hello > hello.txt"}),
        ("fly", {}),
        ("bash", {"command": "cat none"}),
        ("finish", {}),
        ("bash", {"command": "rm hello.txt"}),
    ]
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for index, (name, arguments) in enumerate(calls)
        ],
    }
    _, reward, terminated, _, info = env.step(message)
    assert (reward, terminated) == (1.0, True)
    results = info["tool_results"]
    assert [(result["tool_call_id"], result["name"], result["ok"]) for result in results] == [
        ("c0", "bash", True),
        ("c1", "fly", False),
        ("c2", "bash", False),
        ("c3", "finish", True),
        ("c4", "bash", False),
    ]
    assert "No such file" in results[2]["text"]
    assert "task is over" in results[4]["text"]


def test_chat_messages_answer_every_call(env: TerminalEnv) -> None:
    """The wrapper that keeps a chat gives each native call a tool message of its own."""
    from gem.wrappers import wrapper

    chat = wrapper("messages")(env)
    chat.reset(seed=0)
    message = call("bash", command="echo one")
    message["tool_calls"].append({**call("bash", command="echo two")["tool_calls"][0], "id": "2"})
    messages, *_ = chat.step(message)
    answers = [(said["tool_call_id"], said["content"]) for said in messages if said["role"] == "tool"]
    assert answers == [("1", "one\n[exit code 0]"), ("2", "two\n[exit code 0]")]


@pytest.mark.every_engine
def test_an_interactive_program_is_played(env: TerminalEnv) -> None:
    """A program that draws on a terminal is seen as a person sees it, and answers keys."""
    screen_with(env, "\nName?", "read -p 'Name? ' name; clear; echo \"Hi $name\"", "Enter")
    assert screen_with(env, "Hi Ada!", "Ada", "BSpace", "a!", "Enter").startswith("Hi Ada!")
    assert "^C" in screen_with(env, "^C", "sleep 100", "Enter", "C-c")


@pytest.mark.parametrize(
    "action", ["", "ls", "<bash>ls", None, 7, b"x", ["ls"], {"content": None}, {"tool_calls": "x"}]
)
def test_an_action_that_cannot_be_read_costs_a_turn(env: TerminalEnv, action: Any) -> None:
    """The agent is told what it can do, and the task goes on."""
    observation, reward, terminated, truncated, info = env.step(action)
    assert "<bash>" in observation
    assert (reward, terminated, truncated, info["action_status"]) == (0.0, False, False, "malformed")


def test_running_out_of_turns_verifies(env: TerminalEnv) -> None:
    """The turns were announced, so the episode is decided, and truncated as well."""
    for _ in range(19):
        env.step("<bash>echo hello > hello.txt</bash>")
    assert env.step("<bash>true</bash>")[1:4] == (1.0, True, True)


def test_turns_that_were_not_announced_truncate_alone(engine: Engine, tmp_path: Path) -> None:
    """An agent that was told of no limit has not lost by it."""
    folder = write_task(tmp_path / "task")
    with TerminalEnv(path=folder, engine=engine, max_turns=1, instructions=False) as env:
        env.reset(seed=0)
        assert env.step("<bash>echo hello > hello.txt</bash>")[1:4] == (1.0, False, True)
        env.reset(seed=0)
        assert env.step("<finish/>")[1:4] == (0.0, True, False)


def test_running_out_of_time_verifies(engine: Engine, tmp_path: Path) -> None:
    """A limit that the agent was not told of truncates alone."""
    with TerminalEnv(path=write_task(tmp_path / "slow"), engine=engine, episode_seconds=500.0) as env:
        env.reset(seed=0)
        env.step("<bash>echo hello > hello.txt</bash>")
        assert env._session is not None
        left = env._session.seconds_left
        assert left is not None
        assert 0.0 < left <= 500.0
        env._session._deadline = time.monotonic() + 0.5
        assert env.step("<bash>sleep 30</bash>")[1:4] == (1.0, False, True)


def test_no_command_takes_for_ever(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much time an agent asks for, where neither the task nor the caller bounds the episode."""
    monkeypatch.setattr("gem_terminal.episodes.task_session._MOST_SECONDS", 0.5)
    folder = write_task(
        tmp_path / "task", **{"task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n"}
    )
    with TerminalEnv(path=folder, engine=engine, command_seconds=0.2) as env:
        env.reset(seed=0)
        *_, truncated, info = env.step(call("bash", command="sleep 1000", timeout_secs=1e8))
        assert (info["timed_out"], truncated) == (True, False)


@pytest.mark.every_engine
def test_a_container_that_dies_truncates_the_episode(env: TerminalEnv) -> None:
    """The step says what failed; the next episode works."""
    assert env._session is not None
    env._session._container.remove()
    _, reward, terminated, truncated, info = env.step("<bash>true</bash>")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error"]
    env.reset()
    assert env.step("<bash>echo again</bash>")[0] == "again\n[exit code 0]"


WRECKS = {
    "no folder to begin in": "rm -rf /desk",
    "a file in its place": "rm -rf /desk; touch /desk",
    "no shell": "rm /bin/bash /usr/bin/bash",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ends", ["", "; exit"])
@pytest.mark.parametrize("case", WRECKS)
def test_an_agent_that_breaks_its_container_is_answered(env: TerminalEnv, case: str, ends: str) -> None:
    """The episode is the agent's to lose: it goes on, by whatever way still works, and is verified."""
    env.step(f"<bash>{WRECKS[case]}{ends}</bash>")
    if case == "no shell":
        assert ("no new shell can be started" in env.step("<bash>pwd</bash>")[0]) is bool(ends)
        assert "the terminal has ended" in env.step(call("send_keys", keys=["pwd", "Enter"]))[0]
    else:
        assert env.step("<bash>cd .. && pwd</bash>")[0] == "/\n[exit code 0]"
        assert "echoed 42" in env.step(call("send_keys", keys=["echo echoed $((40 + 2))", "Enter"], timeout_secs=30))[0]
    assert env.step(call("write_file", path="/tmp/file", content="text"))[0] == "Written to /tmp/file."
    assert env.step(call("read_file", path="/tmp/file"))[0] == "text"
    assert env.step(call("read_file", path="file"))[2:4] == (False, False)
    assert env.step("<finish/>")[1:4] == (0.0, True, False)


def test_a_task_that_begins_in_no_folder_fails_at_once(engine: Engine, tmp_path: Path) -> None:
    """Its author hears of it: nobody works in another folder instead."""
    folder = write_task(tmp_path / "task", **{"task.toml": "[environment]\nworkdir = '/nowhere'\n"})
    with TerminalEnv(path=folder, engine=engine, network=False) as env, pytest.raises(EngineError, match="nowhere"):
        env.reset(seed=0)


def test_files_are_written_into_new_folders_and_read_in_parts(env: TerminalEnv) -> None:
    """A file longer than an observation can be read whole; the parts say where they are."""
    text = "".join(f"{number:07}\n" for number in range(3000))
    env.step(call("write_file", path="/desk/a/b c/é.txt", content=text))
    parts = [env.step(call("read_file", path="/desk/a/b c/é.txt", offset=at))[0] for at in (0, 16 << 10, 1 << 20)]
    shown = [part.rpartition("\n") for part in parts]
    assert "".join(content for content, *_ in shown) == text
    assert [note for *_, note in shown] == [
        "[bytes 0 to 16384 of 24000]",
        "[bytes 16384 to 24000 of 24000]",
        "[the file ends at byte 24000]",
    ]
    observation, *_, info = env.step(call("read_file", path="/desk/none", offset=0))
    assert ("No such file" in observation, info["tool_results"][0]["ok"]) == (True, False)
    assert "File exists" in env.step(call("write_file", path="/desk/a/b c/é.txt/x", content=""))[0]


def test_a_path_may_begin_at_home(env: TerminalEnv) -> None:
    """As in the shell of the same agent, which finds the file there."""
    env.step(call("write_file", path="~/a b/note.txt", content="at home\n"))
    assert env.step("<bash>cat ~/'a b'/note.txt; ls -d '~' 2>&1</bash>")[0].startswith("at home\nls: cannot access")
    assert env.step(call("read_file", path="~/a b/note.txt"))[0] == "at home\n"
    assert env.step(call("read_file", path="~/a b/note.txt", offset=3))[0].startswith("home")
    env.step(call("write_file", path="~games/a b.txt", content="in the home of another user\n"))
    assert env.step("<bash>cat ~games/'a b.txt'</bash>")[0].startswith("in the home of")
    assert env.step(call("read_file", path="~games/a b.txt"))[0] == "in the home of another user\n"
    env.step(call("write_file", path="~nobody-of-this-name/x", content="here\n"))
    assert env.step("<bash>cat './~nobody-of-this-name/x'</bash>")[0].startswith("here")


@pytest.mark.parametrize("length", [4096, 300_000])
def test_a_path_without_measure_is_answered(env: TerminalEnv, length: int) -> None:
    """It is a path that does not exist, and nothing that an engine has to carry."""
    for message in (
        call("read_file", path="/" + "a" * (length - 1)),
        call("write_file", path="é" * length, content=""),
    ):
        observation, _, _, truncated, info = env.step(message)
        assert "too long" in observation
        assert (info["exit_code"], truncated) == (1, False)


def test_what_could_not_be_written_is_not_said_to_be(env: TerminalEnv) -> None:
    """A pipe is not waited for, and a command that failed without a word is told by its exit code."""
    env.step("<bash>mkfifo pipe; cp /bin/false /usr/bin/head</bash>")
    observation, *_, info = env.step(call("write_file", path="/desk/pipe", content="x"))
    assert "not a regular file" in observation
    assert info["tool_results"][0]["ok"] is False
    assert "exit code 1" in env.step(call("write_file", path="/desk/file", content="x"))[0]
    assert "exit code 1" in env.step(call("read_file", path="/etc/hostname"))[0]


def test_terminals_that_ended_leave_nothing_open(env: TerminalEnv) -> None:
    """However often an agent ends its terminal, one is open at a time."""
    message = call("send_keys", keys=["exit", "Enter"])
    env.step(message)
    before = len(list(Path("/proc/self/fd").iterdir()))
    message["tool_calls"] *= 16
    assert env.step(message)[0].count("the terminal has ended") > 8
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 8


def test_a_process_without_descriptors_truncates_the_episode(
    working_engine: Callable[[str], Engine], tmp_path: Path
) -> None:
    """A trainer that has opened too much is told so by the step, as of any failure of the engine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    folder = write_task(tmp_path / "task")
    with TerminalEnv(path=folder, engine=working_engine("namespace")) as env:
        env.reset(seed=0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            *_, truncated, info = env.step(call("read_file", path="/etc/hostname"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert truncated
        assert "Too many open files" in info["error"]
        env.reset(seed=0)
        assert env.step("<bash>echo again</bash>")[0] == "again\n[exit code 0]"


TAMPERING = {
    "replaces the tests": (
        "mkdir -p /tests; printf 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; chmod +x /tests/test.sh"
    ),
    "writes the reward": "mkdir -p /logs/verifier; cd /logs/verifier; echo 1 > reward.txt; echo 1 > reward.json",
    "keeps writing the reward": (
        "(trap '' TERM HUP; while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; done) & disown"
    ),
    "waits for the tests": "(setsid sh -c 'while :; do echo 1 > /logs/verifier/reward.json; done' &) ; true",
    "links the tests": "rm -rf /tests /logs; ln -s /desk /tests; ln -s /desk /logs",
    "ends the shell": "exit 0",
    "kills everything": "kill -9 -1",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", TAMPERING)
def test_tampering_earns_nothing(env: TerminalEnv, case: str) -> None:
    """What an agent plants or leaves running has no part in the verdict."""
    env.step(f"<bash>{TAMPERING[case]}</bash>")
    _, reward, terminated, _, info = env.step("<finish/>")
    assert (reward, terminated) == (0.0, True), info


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("#!/bin/bash\n", "neither reward.json nor reward.txt"),
        ("#!/bin/bash\necho nan > /logs/verifier/reward.txt\n", "not a finite number"),
        ("#!/bin/bash\necho much > /logs/verifier/reward.txt\n", "holds no reward"),
        ("#!/bin/bash\necho '{}' > /logs/verifier/reward.json\n", "empty"),
        ("#!/bin/bash\nsleep 60\n", "longer than"),
    ],
)
def test_tests_without_a_verdict_are_an_error(engine: Engine, tmp_path: Path, script: str, error: str) -> None:
    """No reward is not a success: 0.0, and info says why."""
    toml = FILES["task.toml"] + f"[verifier]\ntimeout_sec = {2.0 if 'sleep' in script else 60.0}\n"
    folder = write_task(tmp_path / "broken", **{"tests/test.sh": script, "task.toml": toml})
    with TerminalEnv(path=folder, engine=engine) as env:
        env.reset(seed=0)
        _, reward, _, _, info = env.step("<finish/>")
        assert reward == 0.0
        assert error in info["verifier_error"]


@pytest.mark.parametrize("options", ["block: true", pytest.param("block: false", marks=pytest.mark.nightly)])
def test_a_solution_of_many_commands_is_played(engine: Engine, tmp_path: Path, options: str) -> None:
    """Terminal-Bench 1 sets no limit to them, and one message has one: what comes last is carried out too."""
    commands = "".join(f"- command: echo {number} >> numbers\n  {options}\n" for number in range(20))
    folder = tmp_path / "task"
    for name, content in {
        "task.yaml": "instruction: Count.\n",
        "Dockerfile": FILES["environment/Dockerfile"],
        "run-tests.sh": (
            "said=FAILED\n"
            '[ "$(wc -l < /desk/numbers)" = 20 ] && [ "$(tail -n 1 /desk/numbers)" = 19 ] && said=PASSED\n'
            "echo '=== short test summary info ==='; echo $said tests/test_it.py::test_it\n"
        ),
        "solution.yaml": commands,
        "tests/test_it.py": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with TerminalEnv(path=folder, engine=engine, network=False) as env:
        policy = OracleSolutionPolicy(env)
        for _ in range(2):  # a policy is as good for the next episode
            observation, info = env.reset(seed=0)
            policy.reset(observation, info)
            terminated = False
            while not terminated:
                observation, reward, terminated, _, info = env.step(policy.act(observation, info))
            assert (reward, info["turn"]) == (1.0, 3), info


def test_an_episode_goes_on_from_its_state(env: TerminalEnv, engine: Engine, tmp_path: Path) -> None:
    """Another instance does the same again in a container of its own, from a state that survives JSON."""
    env.step("<bash>cd /tmp; X=5; echo hel > part</bash>")
    env.step(call("write_file", path="/desk/hello.txt", content="hello\n"))
    state = json.loads(json.dumps(env.get_state()))
    with TerminalEnv(path=tmp_path / "hello", engine=engine, max_turns=20) as twin:
        twin.set_state(state)
        assert twin.step("<bash>pwd; echo $X; cat part</bash>")[0] == "/tmp\n5\nhel\n[exit code 0]"
        assert twin.step("<finish/>")[1] == 1.0
        with pytest.raises(StateError):
            twin.set_state({**state, "actions": [{"action": "fly"}]})


def test_orders_and_arguments_are_checked(engine: Engine, tmp_path: Path) -> None:
    """A step before the first reset, a task that is not there, and both kinds of task at once are refused."""
    folder = write_task(tmp_path / "task")
    with TerminalEnv(path=folder, engine=engine) as env:
        with pytest.raises(ResetNeededError, match="reset"):
            env.step("<finish/>")
        with pytest.raises(ArgumentError, match="hello"):
            env.reset(options={"task": "hello"})
    with pytest.raises(ArgumentError, match="task"):
        TerminalEnv()
    with pytest.raises(ArgumentError, match="git-rescue"):
        TerminalEnv(task="git-rescu")
