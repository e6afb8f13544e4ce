"""The agent in the manner of Terminus, with clients that answer from a script and real containers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import EpisodeLimitError
from gem_terminal import TerminalEnv
from gem_terminal.actions import MOST_CALLS
from gem_terminal.terminus import TerminusPolicy, terminus_answer

ScriptedClient = pytest.importorskip("gem_eval.clients.scripted").ScriptedClient


def answer(*commands: tuple[str, float], complete: bool = False, **fields: Any) -> str:
    """An answer as Terminus asks for it."""
    typed = [{"keystrokes": keys, "duration": seconds} for keys, seconds in commands]
    return json.dumps({"analysis": "…", "plan": "…", "commands": typed, "task_complete": complete, **fields})


def play(policy: TerminusPolicy, env: TerminalEnv) -> list[tuple[Any, Any]]:
    """The observations and the last info of an episode."""

    async def episode() -> list[tuple[Any, Any]]:
        observation, info = env.reset(seed=0)
        await policy.reset(observation, info)
        turns: list[tuple[Any, Any]] = []
        over = False
        while not over:
            act = await policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(act.action)
            over = terminated or truncated
            turns.append((observation, info))
        return turns

    return asyncio.run(episode())


def test_a_model_types_looks_at_the_screen_and_confirms(engine_variables: None, working_engine: Any) -> None:
    """Commands run in one terminal; the episode ends after the second "task_complete", not after the first."""
    client = ScriptedClient(
        [
            "I look first.\n" + answer(("echo $((6 * 7))\n", 0.1), ("cat\n", 1.0)),
            answer(("typed\n", 0.1), ("C-d", 0.1), ("", 0.1)),
            answer(complete=True),
            answer(complete=True),
        ]
    )
    with TerminalEnv("ledger", engine=working_engine("namespace"), instructions=False) as env:
        turns = play(TerminusPolicy(client), env)
    assert len(turns) == 4
    assert "\n42\n" in turns[0][0]
    assert "typed\ntyped\n" in turns[1][0]
    assert turns[-1][1]["success"] is False
    assert "42" in client.prompts[1][-1]["content"]
    assert "Is the task complete?" in client.prompts[3][-1]["content"]


def test_a_malformed_answer_is_told_to_the_model_and_costs_no_turn() -> None:
    """The model is asked again within the turn; where it never answers well, the turn passes without a key."""
    policy = TerminusPolicy(ScriptedClient(["no JSON", '{"commands": 3}', answer(("ls\n", 1.0))]), attempts=3)
    act = asyncio.run(policy.act("the task", {}))
    assert json.loads(act.action["tool_calls"][0]["function"]["arguments"])["keys"] == ["ls\r"]
    client = ScriptedClient(["no", "no", "no", answer()])
    policy = TerminusPolicy(client, attempts=3)
    act = asyncio.run(policy.act("the task", {}))
    assert json.loads(act.action["tool_calls"][0]["function"]["arguments"])["keys"] == []
    assert "commands" in act.metadata["malformed"]
    asyncio.run(policy.act("a screen", {}))
    roles = [message["role"] for message in client.prompts[-1]]
    assert roles == ["user", "assistant"] * 3 + ["user"]


def test_a_full_context_loses_its_older_screens_and_the_task_stays() -> None:
    """The older half is left out; if there is nothing left to leave out, the episode ends as the client says."""

    def full(messages: list[dict[str, Any]]) -> str:
        if sum(len(message["content"]) for message in messages) > 6000:
            raise EpisodeLimitError("context")
        return answer(("ls\n", 1.0))

    policy = TerminusPolicy(ScriptedClient(full))

    async def turns(screens: list[str]) -> None:
        for screen in screens:
            await policy.act(screen, {})

    asyncio.run(turns(["the task", *(f"screen {number} " + "x" * 600 for number in range(20))]))
    shown = [message["content"] for message in policy._messages]
    assert "the task" in shown[0]
    assert any("screen 19" in text for text in shown)
    assert not any("screen 1 " in text for text in shown)
    with pytest.raises(EpisodeLimitError):
        asyncio.run(turns(["y" * 9000]))


@given(st.text(max_size=200) | st.builds(json.dumps, st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["commands", "keystrokes", "duration", "task_complete"]), inner, max_size=4),
    max_leaves=12,
)))  # fmt: skip
def test_any_answer_is_read_without_an_error(text: str) -> None:
    """What comes of it are strings, and waits of one second to a minute."""
    read = terminus_answer(text)
    assert all(isinstance(keys, str) and 1.0 <= seconds <= 60.0 for keys, seconds in read.commands)


def test_an_answer_may_stand_in_other_text_and_has_a_limit_of_commands() -> None:
    """The first object with commands counts; braces before it do no harm, thousands of them cost no time."""
    read = terminus_answer('I see {x} and {"y": 1}: ' + answer(*[("a\n", 90.0)] * 50, complete=True) + " done")
    assert len(read.commands) == MOST_CALLS - 1
    assert read.commands[0] == ("a\n", 60.0)
    assert read.complete
    assert terminus_answer("{" * 1_000_000).error is not None
    assert terminus_answer('{"commands": [{"keystrokes": "a\nb"}]}').commands == (("a\nb", 1.0),)


@pytest.mark.slow(reason="an episode through the command, and the command a second time to resume it")
def test_the_command_plays_it_with_a_model(engine_variables: None, tmp_path: Path) -> None:
    """The model solves a task through the screen; the record names model and agent, so that a run can go on."""
    from gem_eval.cli.eval import eval_command
    from gem_eval.fake_model import FakeModel, FakeModelThread
    from gem_eval.runs import RunFolder

    (task,) = TerminalEnv("shared-folder").tasks
    solution = (task.folder / "solution" / "solve.sh").read_text()
    typed = f"cat > /tmp/solve <<'END'\n{solution}END\nbash /tmp/solve; cd ~\n"

    def model(request: Any) -> str:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        return answer((typed, 5.0)) if turn == 0 else answer(complete=True)

    run = str(tmp_path / "run")
    agent = ("--agent", "gem_terminal.terminus:TerminusPolicy")
    with FakeModelThread(FakeModel(model, model="typist")) as server:
        played = ("terminal:SharedFolder-v0", *agent, "-u", server.url, "--arg", "instructions=false")
        result = CliRunner().invoke(eval_command, [*played, "-n", "1", "--out", run])
        assert result.exit_code == 0, result.output
        resumed = CliRunner().invoke(eval_command, ["--resume", run, "-u", server.url])
        assert resumed.exit_code == 0, resumed.output
        assert server.stats()["requests"]["/v1/chat/completions"] == 3
    (episode,) = RunFolder(run).rows()
    assert (episode.episode_return, episode.turns, episode.agent) == (1.0, 3, agent[1])
    assert RunFolder(run).config.model == "typist"
