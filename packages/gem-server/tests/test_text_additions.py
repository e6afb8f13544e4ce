"""Observations that grow cross a connection as what was added."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_server.errors import ServiceError
from gem_server.text_additions import SUBPROTOCOL, WITH_ADDITIONS, TextAdditions, chosen_subprotocol, note_observation

if TYPE_CHECKING:
    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server")
GAME = "game:GuessTheNumber-v0"

pieces = st.sampled_from(['"', "\\", '\\"', '",', "\n", "é", "😀", "\ud83d", "\ude00", "a" * 300, "error", "]", ""])
observations = st.one_of(
    st.tuples(st.just("grows"), pieces),
    st.tuples(st.just("new"), st.lists(pieces, max_size=4).map("".join)),
    st.tuples(st.just("parts"), st.just([{"type": "text", "text": "a" * 300}])),
    st.tuples(st.just("value"), st.lists(pieces, max_size=3).map("".join)),
    st.tuples(st.just("connection"), st.none()),
)


@given(st.lists(st.tuples(st.integers(0, 1), observations), max_size=40))
def test_what_arrives_is_what_was_sent(answers: list[tuple[int, tuple[str, Any]]]) -> None:
    """Results and values on two channels, over several connections, arrive as their whole JSON would."""
    sender, seen, texts = TextAdditions(), dict[int, Any](), {0: "", 1: ""}
    for channel, (kind, value) in answers:
        if kind == "connection":
            sender, seen = TextAdditions(), {}
            continue
        if kind in ("grows", "new"):
            value = texts[channel] = texts[channel] + value if kind == "grows" else value
        fields = [value] if kind == "value" else [value, 0.5, False, True, {"said": value}]
        whole = json.dumps(fields)[1:]
        sent = sender.shorten(channel, whole.encode())
        arrived = json.loads(b"[%d,1,%b" % (channel, sent))
        if len(arrived) >= 7:
            note_observation(arrived, seen)
        assert arrived[2:] == json.loads(f"[{whole}")


def test_a_turn_of_a_long_history_sends_what_it_added() -> None:
    """The bytes of a result do not grow with the history before it; after forgetting, a text comes whole."""
    sender, history = TextAdditions(), 'turn \\ "one"\n' * 500
    first, second = (f"{json.dumps(text)},1.0,false,false,{{}}]".encode() for text in (history, f"{history}two\n"))
    assert sender.shorten(3, first) == first
    assert sender.shorten(4, second) == second
    assert sender.shorten(3, second) == b'"two\\n",1.0,false,false,{},true]'
    assert sender.shorten(3, second) == b'"",1.0,false,false,{},true]'
    sender.forget(3)
    assert sender.shorten(3, second) == second


def test_an_addition_to_nothing_is_a_fault_of_the_server() -> None:
    """A client never shows a part of a text as if it were the whole."""
    with pytest.raises(ServiceError, match="channel 5 that it has not sent"):
        note_observation([5, 1, "two", 1.0, False, False, {}, True], {4: "one"})


def test_a_client_without_additions_gets_whole_texts() -> None:
    """The better of what both know is chosen; a token or a ticket beside it is none of them."""
    assert chosen_subprotocol([SUBPROTOCOL, "gem.bearer.x", WITH_ADDITIONS]) == WITH_ADDITIONS
    assert chosen_subprotocol(["gem.bearer.x", SUBPROTOCOL]) == SUBPROTOCOL
    assert chosen_subprotocol(["gem.bearer.x"]) is None


def test_a_foreign_client_sees_the_additions(server: RunningServer) -> None:
    """Frames of another library's client: whole text first, then parts, and whole after a refusal in between."""
    from websockets.asyncio.client import connect

    async def frames(subprotocol: Any) -> list[Any]:
        seen = []
        async with connect(
            f"ws://{server.host}:{server.port}/v1/socket", subprotocols=[subprotocol], proxy=None
        ) as socket:
            assert socket.subprotocol == subprotocol
            asked = {"session": f"additions {subprotocol}"[:30], "env": GAME, "seed": 1, "wrappers": ["concat"]}
            guesses = [["step", f"\\boxed{{{guess}}}"] for guess in (1, 2, 3)]
            calls = [(0, ["open", asked]), (1, ["reset", {}]), (2, guesses[0]), (3, guesses[1]), (9, guesses[2])]
            for sequence, call in [*calls, (4, guesses[2])]:
                await socket.send(json.dumps([[2, sequence, *call]]))
                seen.append(json.loads(await socket.recv())[0])
        return seen

    whole, parts = asyncio.run(frames(SUBPROTOCOL)), asyncio.run(frames(WITH_ADDITIONS))
    assert [len(answer) for answer in whole] == [3, 7, 7, 7, 5, 7]
    assert [len(answer) for answer in parts] == [3, 7, 8, 8, 5, 8]
    assert whole[4] == parts[4]
    for before, after, added in zip((1, 2, 3), (2, 3, 5), (2, 3, 5), strict=True):
        assert whole[before][2] + parts[added][2] == whole[after][2]


@pytest.mark.parametrize(("wrapper", "autoreset"), [("concat_with_action", "same_step"), ("concat", "next_step")])
def test_histories_of_server_mode_equal_those_of_sync_mode(
    server: RunningServer, relay: Callable[[int], Any], wrapper: str, autoreset: str
) -> None:
    """Over autoresets, resets, and answers and requests that are lost with their connection."""
    with relay(server.port) as link:
        played = []
        for env_id, mode in ((GAME, "sync"), (f"http://127.0.0.1:{link.port}/{GAME}", "server")):
            seen: list[Any] = []
            with gem.make_vec(env_id, num_envs=3, mode=mode, seed=4, wrappers=wrapper, autoreset=autoreset) as envs:
                seen.append(envs.reset())
                for turn in range(14):
                    link.lose = {4: "answer", 9: "request", 12: "answer"}.get(turn) if mode == "server" else None
                    *arrays, infos = envs.step([f"\\boxed{{{(7 * turn + number) % 50}}}" for number in range(3)])
                    seen.append(([list(array) for array in arrays], infos))
                    if turn == 10:
                        seen.append(envs.reset_at([1]))
            played.append(seen)
        assert link.lost == 3
    assert played[0] == played[1]
