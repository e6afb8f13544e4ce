"""A program attacks its gateway from inside its box; none of its attacks gets through."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from box_attacks import ADDRESS, ATTACKS, FLOOD, Attack, Target
from raw_calls import statuses

from gem_eval.clients import Completion, Sampling, ScriptedClient
from gem_gateway import CallBudget, ClientAnswerer, Gateway
from gem_gateway.harnesses.box_layer import BOX_PYTHON
from gem_gateway.harnesses.own_box import OwnBox, obstacle_to_own_box
from gem_gateway.harnesses.place import PlacedFile
from gem_gateway.harnesses.table import command_harness
from gem_gateway.limits import ExchangeLimits

SECRET = "what the other episode knows"
CALLS = 40
"""The budget of the program's session; the last attack has more calls than are left."""
MOST = 100
"""Tokens of an answer that the session grants at most."""
LIMITS = ExchangeLimits(max_body=200_000, max_values=20_000, body_seconds=4.0, head_seconds=4.0, write_seconds=0.2)
KINDS = (
    "other keys", "request smuggling", "SSE injection", "oversized bodies", "path tricks", "server tools",
    "budget evasion", "other protocols", "frames", "two readings", "forms of a key", "what a server keeps",
    "slow streams",
)  # fmt: skip


@dataclass(frozen=True)
class Played:
    """What came of all attacks.

    Attributes:
        answers: attack → what the program read.
        reached: the attacks whose calls reached the program's own model, and how often.
        shown: what that model was shown, and the fields that it was sent beside, as JSON.
        limits: the most tokens that it was asked for.
        tools: what it was offered.
        elsewhere: calls that reached the model of the other session.
    """

    answers: Mapping[str, bytes]
    reached: Mapping[str, int]
    shown: str
    limits: list[int | None]
    tools: list[Any]
    elsewhere: list[Any]


async def play() -> Played:
    asked: list[str] = []
    tools: list[Any] = []
    limits: list[int | None] = []
    shown: list[Any] = []

    class Echo(ScriptedClient):
        async def chat(self, messages: list[dict[str, Any]], **options: Any) -> Completion:
            sampling: Sampling = options["sampling"]
            tools.append(options.get("tools"))
            limits.append(sampling.max_tokens)
            shown.append([messages, dict(sampling.extra)])
            content = messages[-1]["content"]
            said: str = content if isinstance(content, str) else content[0]["text"]
            asked.append(said)
            if said.endswith(", wait"):
                await asyncio.Event().wait()
            text = said * 60_000 if said.endswith(", long") else said
            return Completion({"role": "assistant", "content": text}, text, usage={"completion_tokens": 1})

    victim = ScriptedClient(lambda _: SECRET)
    place = OwnBox(command_harness("attacks"), Path())
    async with Gateway(limits=LIMITS) as gateway:
        try:
            await place.prepare()
            door = place.doors[0]
            budget = CallBudget(calls=CALLS)
            session = gateway.open(ClientAnswerer(Echo([])), budget=budget, sampling=Sampling(max_tokens=MOST))
            other = gateway.open(ClientAnswerer(victim))
            target = Target(door.getsockname()[1], session.id, session.api_key, other.id, other.api_key)
            files = {
                f"{place.paths.work}/attacks.py": PlacedFile(Path(__file__).with_name("box_attacks.py").read_text()),
                f"{place.paths.work}/target.json": PlacedFile(json.dumps(asdict(target))),
            }
            command = [BOX_PYTHON, "-I", "-S", *files]
            async with gateway.listening(door, session):
                program = await place.start(files, command, {}, reads_task=False)
                await asyncio.wait_for(program.wait(), 300)
            assert program.returncode == 0, program.last_words()
        finally:
            await place.remove()
    answers = {name: text.encode("latin-1") for name, text in json.loads(program.output).items()}
    reached = Counter(name for said in asked for name in ATTACKS if said.startswith(name))
    assert reached.total() == len(asked)
    return Played(answers, reached, json.dumps(shown), limits, tools, victim.prompts)


@cache
def played() -> Played:
    """Return what came of the attacks, which are played once for all tests."""
    if (obstacle := obstacle_to_own_box()) is not None:
        pytest.skip(f"NOT TESTED: {obstacle}")
    return asyncio.run(play())


pytestmark = [
    pytest.mark.xdist_group("attacks from a box"),
    pytest.mark.slow(reason="one box, and the seconds after which the gateway leaves slow connections"),
]


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_out_of_the_box_gets_through(name: str) -> None:
    """It is refused, or answered as any other call is; no model but the program's own is asked, and no more."""
    attack = ATTACKS[name]
    found = played()
    answer = found.answers[name]
    assert found.elsewhere == []
    assert SECRET.encode() not in answer
    if attack.reaches < FLOOD:
        # What a model says may look like a status line, and is none within the body of a stream.
        seen = answer.partition(b"\r\n\r\n")[0] if attack.kind == "SSE injection" else answer
        assert tuple(statuses(seen)) in attack.statuses, answer[:500]
        assert found.reached[name] == attack.reaches
    if attack.kind == "SSE injection":
        assert_events_are_the_gateways_own(answer)
    if attack.kind == "slow streams":
        assert b"[DONE]" not in answer  # the gateway has broken off what nobody read


def test_the_budget_holds_under_all_attacks() -> None:
    """The model was asked as often as the budget allows; what was beyond it was refused."""
    found = played()
    flood = "more calls at once than the budget has"
    assert sum(found.reached.values()) == CALLS
    assert Counter(statuses(found.answers[flood])) == {200: found.reached[flood], 403: FLOOD - found.reached[flood]}
    assert 0 < found.reached[flood] < FLOOD


def test_no_field_asks_for_a_longer_answer_than_the_session_grants() -> None:
    """Whatever the interface calls the limit, and however many limits a request has."""
    found = played()
    assert len(found.limits) == CALLS
    assert all(limit is not None and limit <= MOST for limit in found.limits)


def test_nothing_that_a_server_would_fetch_reached_the_model() -> None:
    """Neither the address of a document, nor the number of a file, a container or a stored answer."""
    found = played()
    assert "a document by its address" in found.shown
    for name in (ADDRESS, "file_1", "container_1", "resp_1", "evil.example"):
        assert name not in found.shown


def test_no_tool_of_a_server_was_offered_to_the_model() -> None:
    """Neither a search, nor an interpreter, nor a remote server."""
    assert all(not tools for tools in played().tools)


def test_the_guide_names_every_attack() -> None:
    """By its kind, and says how many there are."""
    assert len(ATTACKS) >= 30
    assert tuple(dict.fromkeys(attack.kind for attack in ATTACKS.values())) == KINDS
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "gateway.md").read_text(encoding="utf-8")
    assert attack_table(ATTACKS) in guide, attack_table(ATTACKS)
    assert f"these {len(ATTACKS)} attacks" in guide


def attack_table(attacks: Mapping[str, Attack]) -> str:
    """Return the guide's table."""
    rows = [
        f"| {kind} | {'; '.join(name for name, attack in attacks.items() if attack.kind == kind)} |" for kind in KINDS
    ]
    return "\n".join(["| kind | attacks |", "|---|---|", *rows])


def assert_events_are_the_gateways_own(answer: bytes) -> None:
    """Check that a hostile text stayed inside the data of events."""
    assert b"X-Forged: 1\r\n" not in answer.partition(b"\r\n\r\n")[0]
    lines = [line for line in answer.decode().splitlines() if line.startswith(("event:", "data:"))]
    data = [json.loads(line[6:]) for line in lines if line.startswith("data: ") and line != "data: [DONE]"]
    assert data
    assert not any(isinstance(one, dict) and one.get("type") == "forged" for one in data)
    assert "event: error" not in lines
    assert rb"\n\nevent: error" in answer
