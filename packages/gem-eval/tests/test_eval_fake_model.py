"""The fake model server: endpoints, policies, latency, limits."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import subprocess
import sys
from typing import Any

import aiohttp
import pytest

from gem_eval.fake_model import FakeModel, FakeModelProcess, FakeModelThread, Latency

GUESSING = "game:GuessTheNumber-v0-easy"
FIRST = {"role": "user", "content": "I have chosen a whole number from 1 to 20."}


def chatting(model: FakeModel, *bodies: dict[str, Any], path: str = "/chat/completions") -> list[dict[str, Any]]:
    """Return the answers to requests that are sent one after another."""

    async def run() -> list[dict[str, Any]]:
        async with model, aiohttp.ClientSession() as session:
            answers = []
            for body in bodies:
                async with session.post(model.url + path, json=body) as reply:
                    answers.append(await reply.json())
            return answers

    return asyncio.run(run())


def text(answer: dict[str, Any]) -> str:
    content: str = answer["choices"][0]["message"]["content"]
    return content


def test_a_constant_policy_answers_its_text() -> None:
    """The answer has the shape of a chat completion, with its usage."""
    (answer,) = chatting(FakeModel("constant:yes"), {"messages": [FIRST]})
    assert text(answer) == "yes"
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


def test_a_reference_policy_plays_from_the_conversation_alone() -> None:
    """The server keeps no episodes: the same messages get the same answer, in any order."""
    later = [FIRST, {"role": "assistant", "content": "x"}, {"role": "user", "content": "The number is higher than 10."}]
    answers = chatting(FakeModel(GUESSING), {"messages": later}, {"messages": [FIRST]}, {"messages": later})
    assert [text(answer) for answer in answers] == ["\\boxed{15}", "\\boxed{10}", "\\boxed{15}"]


def acting(name: str, last: str) -> dict[str, Any]:
    """A request of an agent program that offers the tool of its episode, after two messages."""
    messages = [FIRST, {"role": "assistant", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": last}]
    return {"messages": messages, "tools": [{"type": "function", "function": {"name": name, "parameters": {}}}]}


@pytest.mark.parametrize("name", ["act", "mcp__gem__act", "gem_act"])
def test_a_reference_policy_plays_by_the_tool_of_an_agent_program(name: str) -> None:
    """Under whatever prefix the program gives it, until a result says that the episode is over."""
    model = FakeModel(GUESSING)
    other, going, over = (
        acting("react", "The number is higher than 10."),
        acting(name, "The number is higher than 10."),
        acting(name, "The episode is over. Nothing more can be done in it: stop here."),
    )
    answers = chatting(model, going, over, other)
    (call,) = answers[0]["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (name, {"action": "\\boxed{15}"})
    assert text(answers[1]) == "Done."
    assert text(answers[2]) == "\\boxed{15}"


def test_several_reference_policies_answer_each_their_own_conversations() -> None:
    """The first that can read one."""
    import gem

    towers, _ = gem.make("game:TowerofHanoi-v0-easy").reset(seed=0)
    hanoi = {"messages": [{"role": "user", "content": towers}]}
    answers = chatting(FakeModel(f"{GUESSING},game:TowerofHanoi-v0-easy"), {"messages": [FIRST]}, hanoi)
    assert text(answers[0]) == "\\boxed{10}"
    assert re.fullmatch(r"\\boxed\{[ABC]\W*[ABC]\}", text(answers[1]))


def test_a_conversation_that_no_policy_can_read_is_refused_in_a_line() -> None:
    """It names the environment and how to name more, and does not repeat the whole conversation."""
    sea = {"messages": [{"role": "user", "content": "Tell me of the sea.\n" * 50}]}
    (answer,) = chatting(FakeModel(GUESSING), sea)
    message = answer["error"]["message"]
    assert f"cannot play {GUESSING} (AssertionError: Tell me of the sea. Tell" in message
    assert message.endswith("several environments are named as in --policy ID,ID")
    assert len(message) < 400


def test_latencies_overlap() -> None:
    """Requests that are sent together are answered together."""

    async def run() -> int:
        async with FakeModel("echo", latency=Latency(0.05)) as model, aiohttp.ClientSession() as session:

            async def one() -> None:
                async with session.post(f"{model.url}/chat/completions", json={"messages": [FIRST]}) as reply:
                    await reply.read()

            await asyncio.gather(*(one() for _ in range(20)))
            return model.counts.most_in_flight

    assert asyncio.run(run()) == 20


def test_a_thread_and_a_process_serve_too() -> None:
    """A policy named on the command line answers as one in this process does."""

    async def ask(url: str) -> str:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", json={"messages": [FIRST]}) as reply,
        ):
            return text(await reply.json())

    with FakeModelThread(FakeModel(GUESSING)) as thread, FakeModelProcess(["--policy", GUESSING]) as process:
        assert asyncio.run(ask(thread.url)) == asyncio.run(ask(process.url)) == "\\boxed{10}"
        assert process.stats()["requests"]["/v1/chat/completions"] == 1


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux reports the end of a process that is no child")
def test_the_process_ends_with_its_parent() -> None:
    """A parent that is killed leaves no server behind: the pipe that is the server's input closes with it."""
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from gem_eval.fake_model import FakeModelProcess as P; import time; p = P(); "
            "print(p.process.pid, flush=True); time.sleep(600)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    server = int(parent.stdout.readline())
    descriptor = os.pidfd_open(server)
    parent.kill()
    parent.communicate()
    ended, _, _ = select.select([descriptor], [], [], 60)
    os.close(descriptor)
    assert ended


def test_the_id_of_a_reply_tells_its_latency() -> None:
    """So that an ideal schedule of the same latencies can be computed from recorded episodes."""
    latency = Latency(0.002, sigma=1.0, straggler_share=0.5, straggler_seconds=0.01)
    bodies = [{"messages": [FIRST]}, {"messages": [FIRST]}, {"messages": [{**FIRST, "content": "other"}]}]
    model = FakeModel("constant:x", latency=latency, seed=3)
    identities = [answer["id"].removeprefix("chatcmpl-") for answer in chatting(model, *bodies)]
    assert len(set(identities)) == 3
    assert sum(map(latency.of, identities)) == pytest.approx(model.counts.seconds)
    again = FakeModel("constant:x", latency=latency, seed=3)
    assert [answer["id"].removeprefix("chatcmpl-") for answer in chatting(again, *bodies)] == identities
