"""Web searches and code interpreters that a program asks its API for, and that the gateway carries out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from raw_calls import post, said

from gem.errors import ArgumentError
from gem_eval.clients import Completion
from gem_gateway import CallBudget
from gem_gateway.dialects.base import CallSettings
from gem_gateway.tool_runs import MOST_TURNS
from gem_gateway.tool_specs import declared_tools, named_specs
from gem_tools.python_tool import PythonTool
from gem_tools.search.tool import SearchTool

CORPUS = [
    {"id": "https://example.org/lima", "title": "Lima", "text": "Lima is the capital of Peru."},
    {"id": "quito", "title": "Quito", "text": "Quito is the capital of Ecuador."},
]


def settings() -> CallSettings:
    return CallSettings(
        run_tools=declared_tools({"web_search": SearchTool(corpus=CORPUS), "code_interpreter": "python"})
    )


def calls(*made: tuple[str, dict[str, Any]], text: str = "") -> Completion:
    """Return an answer of the model that calls functions."""
    listed = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for index, (name, arguments) in enumerate(made)
    ]
    message = {"role": "assistant", "content": text or None, "tool_calls": listed}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return Completion(message, text, tool_calls=listed, usage=usage, finish_reason="tool_calls")


SEARCH = ("web_search", {"query": "capital of Peru"})
CODE = ("code_interpreter", {"code": "x = 6\nprint(x * 7)"})
OWN = ("mine", {"a": 1})

BODIES: dict[str, dict[str, Any]] = {
    "/v1/responses": {
        "input": [{"role": "user", "content": "?"}],
        "include": ["web_search_call.action.sources", "code_interpreter_call.outputs"],
        "tools": [
            {"type": "web_search"},
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "function", "name": "mine", "parameters": {"type": "object", "properties": {}}},
        ],
    },
    "/v1/messages": {
        "messages": [{"role": "user", "content": "?"}],
        "max_tokens": 90,
        "tools": [
            {"type": "web_search_20250305", "name": "web_search"},
            {"type": "code_execution_20250825", "name": "code_execution"},
            {"name": "mine", "input_schema": {"type": "object", "properties": {}}},
        ],
    },
}


def output(path: str, body: bytes) -> list[dict[str, Any]]:
    answer = json.loads(body)
    found: list[dict[str, Any]] = answer["output"] if path == "/v1/responses" else answer["content"]
    return found


def continued(path: str, items: list[dict[str, Any]], *results: Any) -> dict[str, Any]:
    """Return the next request of a program that echoes an answer."""
    body = BODIES[path]
    if path == "/v1/responses":
        return {**body, "input": [*body["input"], *items, *results]}
    following = [{"role": "assistant", "content": items}, {"role": "user", "content": list(results)}]
    return {**body, "messages": [*body["messages"], *following]}


KINDS = {
    "/v1/responses": ["message", "web_search_call", "code_interpreter_call", "message"],
    "/v1/messages": [
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "server_tool_use",
        "code_execution_tool_result",
        "text",
    ],
}


@pytest.mark.parametrize("path", BODIES)
def test_the_gateway_carries_tools_out_within_a_call(play: Any, path: str) -> None:
    """The model has the results, the program one answer with its items, and the next call has all turns."""

    async def run() -> None:
        answers = [calls(SEARCH, text="Let me see."), calls(CODE), said("Lima, 42"), said("You're welcome.")]
        async with play(answers, settings=settings()) as playing:
            status, _, body = await post(playing, path, BODIES[path])
            assert status == 200, body
            items = output(path, body)
            assert [item["type"] for item in items] == KINDS[path]
            assert "example.org/lima" in json.dumps(items)
            assert "42" in json.dumps(items[-3:-1])
            names = [tool["function"]["name"] for tool in playing.client.asked[0]["tools"]]
            assert names == ["mine", "web_search", "code_interpreter"]
            shown = playing.client.prompts[2]
            assert [message["role"] for message in shown] == ["user", "assistant", "tool", "assistant", "tool"]
            assert "capital of Peru" in shown[2]["content"]
            assert "42" in shown[4]["content"]
            usage = json.loads(body)["usage"]
            assert (usage["input_tokens"], usage["output_tokens"]) == (9, 6)
            thanks = (
                {"role": "user", "content": "Thanks."}
                if path == "/v1/responses"
                else {"type": "text", "text": "Thanks."}
            )
            assert (await post(playing, path, continued(path, items, thanks)))[0] == 200
            assert playing.client.prompts[3][:5] == shown
            assert playing.session.calls.answered == playing.session.calls.calls == 4

    asyncio.run(run())


@pytest.mark.parametrize("path", BODIES)
def test_a_program_cannot_change_what_a_tool_has_returned(play: Any, path: str) -> None:
    """Forged results, items of other sessions and made-up ids change nothing that the model sees of its turns."""

    async def run() -> None:
        async with play([calls(SEARCH), said("Lima"), *map(said, "abc")], settings=settings()) as playing:
            items = output(path, (await post(playing, path, BODIES[path]))[2])
            true = playing.client.prompts[1]
            following = {"role": "user", "content": "?"} if path == "/v1/responses" else {"type": "text", "text": "?"}
            forged = json.loads(json.dumps(items).replace("Lima", "Paris").replace("capital of Peru", "forged"))
            forged[-1] = items[-1]
            assert (await post(playing, path, continued(path, forged, following)))[0] == 200
            assert playing.client.prompts[2][: len(true)] == true
            name = items[0]["id"]
            strange = json.loads(json.dumps(items).replace(name, name[:-3] + "fff"))
            assert (await post(playing, path, continued(path, strange, following)))[0] == 200
            assert [message["role"] for message in playing.client.prompts[3]] == ["user", "assistant", "user"]
            assert any("has not made" in note for note in playing.session.calls.notes)

    asyncio.run(run())


@pytest.mark.parametrize("path", BODIES)
def test_a_turn_with_calls_of_both_goes_on_with_the_programs_results(play: Any, path: str) -> None:
    """The gateway runs its tools, the program its own, and the model sees one turn with all calls as it made them."""

    async def run() -> None:
        async with play([calls(SEARCH, OWN, CODE), said("done")], settings=settings()) as playing:
            items = output(path, (await post(playing, path, BODIES[path]))[2])
            own = items[-1]
            if path == "/v1/responses":
                assert own["type"] == "function_call"
                result: Any = {"type": "function_call_output", "call_id": own["call_id"], "output": "mine"}
            else:
                assert own["type"] == "tool_use"
                result = {"type": "tool_result", "tool_use_id": own["id"], "content": "mine"}
            assert (await post(playing, path, continued(path, items, result)))[0] == 200
            turn = playing.client.prompts[1]
            assert [one["function"]["name"] for one in turn[1]["tool_calls"]] == [
                "web_search",
                "mine",
                "code_interpreter",
            ]
            assert [message.get("tool_call_id") for message in turn[2:]] == ["c0", "c2", "c1"]

    asyncio.run(run())


@pytest.mark.parametrize("path", BODIES)
def test_a_stream_has_what_an_answer_has(play: Any, path: str) -> None:
    """The items come one by one and whole at the end; deltas add up to the program that was run."""

    async def run() -> None:
        async with play([calls(SEARCH), calls(CODE), said("Lima")], settings=settings()) as playing:
            _, _, body = await post(playing, path, {**BODIES[path], "stream": True})
            events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]
            if path == "/v1/responses":
                done = [one["item"] for one in events if one["type"] == "response.output_item.done"]
                assert done == events[-1]["response"]["output"]
                code = "".join(
                    one["delta"] for one in events if one["type"] == "response.code_interpreter_call_code.delta"
                )
                assert code == CODE[1]["code"]
                assert [one["sequence_number"] for one in events] == list(range(len(events)))
            else:
                starts = [one["content_block"] for one in events if one["type"] == "content_block_start"]
                assert [block["type"] for block in starts] == KINDS[path][1:]
                given = "".join(
                    one["delta"]["partial_json"]
                    for one in events
                    if one["type"] == "content_block_delta" and one["index"] == 2
                )
                assert json.loads(given) == CODE[1]
                assert "42" in starts[3]["content"]["stdout"]

    asyncio.run(run())


def test_sessions_do_not_share_variables(play: Any) -> None:
    """What one program computes, the program of another session does not see."""

    async def run() -> None:
        shared = settings()
        kept = ("code_interpreter", {"code": "print(x)"})
        async with play([calls(CODE), calls(kept), said()], settings=shared) as playing:
            await post(playing, "/v1/messages", BODIES["/v1/messages"])
            assert playing.client.prompts[2][4]["content"].endswith("6")
        async with play([calls(kept), said()], settings=shared) as playing:
            await post(playing, "/v1/messages", BODIES["/v1/messages"])
            assert "NameError" in playing.client.prompts[1][2]["content"]

    asyncio.run(run())


def test_a_model_that_only_searches_is_stopped(play: Any) -> None:
    """An answer has a limit of turns, the budget counts each, and max_uses and max_tool_calls hold."""

    async def run() -> None:
        body = BODIES["/v1/messages"]
        async with play(lambda _: calls(SEARCH), settings=settings()) as playing:
            _, _, answer = await post(playing, "/v1/messages", body)
            assert json.loads(answer)["stop_reason"] == "pause_turn"
            assert len(playing.client.prompts) == MOST_TURNS
        async with play(lambda _: calls(SEARCH), settings=settings(), budget=CallBudget(calls=3)) as playing:
            _, _, answer = await post(playing, "/v1/messages", body)
            assert json.loads(answer)["error"]["type"] == "billing_error"
            assert len(playing.client.prompts) == 3
        once = {**body, "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}]}
        async with play([calls(SEARCH), calls(SEARCH), said()], settings=settings()) as playing:
            _, _, answer = await post(playing, "/v1/messages", once)
            assert "as often as" in playing.client.prompts[2][-1]["content"]
            assert json.loads(answer)["content"][3]["content"]["type"] == "web_search_tool_result_error"
        few = {**BODIES["/v1/responses"], "max_tool_calls": 1}
        async with play([calls(SEARCH, CODE), said()], settings=settings()) as playing:
            await post(playing, "/v1/responses", few)
            assert "as often as" in playing.client.prompts[1][-1]["content"]

    asyncio.run(run())


def test_a_forced_tool_is_forced_once(play: Any) -> None:
    """After the first turn, the model may answer."""

    async def run() -> None:
        for path, forced in (("/v1/responses", {"type": "web_search"}), ("/v1/messages", {"type": "any"})):
            async with play([calls(SEARCH), said()], settings=settings()) as playing:
                assert (await post(playing, path, {**BODIES[path], "tool_choice": forced}))[0] == 200
                first, second = (asked["sampling"].extra for asked in playing.client.asked)
                assert "tool_choice" in first
                assert "tool_choice" not in second

    asyncio.run(run())


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (("web_search",), "KIND=TOOL"),
        (("web_search=search:a", "web_search=search:b"), "twice"),
        (("file_search=search:a",), "file_search"),
        (("web_search=python",), "cannot be"),
        (("code_interpreter=search:a",), "cannot be"),
    ],
)
def test_a_wrong_declaration_says_what_is_known(specs: tuple[str, ...], words: str) -> None:
    """The error names the declaration, and what may stand there."""
    with pytest.raises(ArgumentError, match=words):
        declared_tools(named_specs(specs))


def test_a_tool_with_other_arguments_is_refused() -> None:
    """A search takes a query, an interpreter code."""
    with pytest.raises(ArgumentError, match="query"):
        declared_tools({"web_search": PythonTool()})
