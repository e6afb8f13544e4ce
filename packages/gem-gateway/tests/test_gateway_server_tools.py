"""Web searches and code interpreters that a program asks its API for, and that the gateway carries out."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from difficult_programs import PairCodec
from raw_calls import post, said

from gem.errors import ArgumentError
from gem_eval.clients import Completion, Sampling
from gem_eval.clients.local_generation import GeneratedTokens
from gem_gateway import CallBudget, Gateway, GenerateClient
from gem_gateway.dialects.base import CallSettings
from gem_gateway.lineages.recorder import LineageRecorder
from gem_gateway.tool_runs import MOST_TURNS
from gem_gateway.tool_specs import declared_tools
from gem_rollout.lineages.certificate import certify_calls
from gem_rollout.lineages.leaf_rows import leaf_rows
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


GEMINI = "/v1beta/models/m:generateContent"
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
    GEMINI: {
        "contents": [{"role": "user", "parts": [{"text": "?"}]}],
        "tools": [
            {"googleSearch": {}},
            {"codeExecution": {}},
            {"functionDeclarations": [{"name": "mine", "parametersJsonSchema": {"type": "object", "properties": {}}}]},
        ],
    },
}


def output(path: str, body: bytes) -> list[dict[str, Any]]:
    """Return the items, blocks or parts of an answer."""
    answer = json.loads(body)
    if path == GEMINI:
        answer = answer["candidates"][0]["content"]
    return answer[{"/v1/responses": "output", "/v1/messages": "content", GEMINI: "parts"}[path]]  # type: ignore[no-any-return]


def continued(path: str, items: list[dict[str, Any]], *results: Any) -> dict[str, Any]:
    """Return the next request of a program that echoes an answer."""
    body = BODIES[path]
    if path == "/v1/responses":
        return {**body, "input": [*body["input"], *items, *results]}
    if path == GEMINI:
        following = [{"role": "model", "parts": items}, {"role": "user", "parts": list(results)}]
        return {**body, "contents": [*body["contents"], *following]}
    following = [{"role": "assistant", "content": items}, {"role": "user", "content": list(results)}]
    return {**body, "messages": [*body["messages"], *following]}


SAID = {
    "/v1/responses": {"role": "user", "content": "Thanks."},
    "/v1/messages": {"type": "text", "text": "Thanks."},
    GEMINI: {"text": "Thanks."},
}
"""What the user says next."""

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
    GEMINI: ["text", "toolCall", "toolResponse", "executableCode", "codeExecutionResult", "text"],
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
            assert [item.get("type", next(iter(item))) for item in items] == KINDS[path]
            assert "https://example.org/lima" in body.decode()
            assert "42" in json.dumps(items[-3:-1])
            names = [tool["function"]["name"] for tool in playing.client.asked[0]["tools"]]
            assert names == ["mine", "web_search", "code_interpreter"]
            shown = playing.client.prompts[2]
            assert [message["role"] for message in shown] == ["user", "assistant", "tool", "assistant", "tool"]
            assert "capital of Peru" in shown[2]["content"]
            assert "42" in shown[4]["content"]
            usage = json.loads(body)["usageMetadata" if path == GEMINI else "usage"]
            assert list(usage.values())[:2] == [9, 6] if path == GEMINI else usage["output_tokens"] == 6
            assert (await post(playing, path, continued(path, items, SAID[path])))[0] == 200
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
            forged = json.loads(json.dumps(items).replace("Lima", "Paris").replace("capital of Peru", "forged"))
            forged[-1] = items[-1]
            assert (await post(playing, path, continued(path, forged, SAID[path])))[0] == 200
            assert playing.client.prompts[2][: len(true)] == true
            strange = json.loads(json.dumps(items).replace(playing.session.id, "0" * 16))
            assert (await post(playing, path, continued(path, strange, SAID[path])))[0] == 200
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
            elif path == GEMINI:
                result = {
                    "functionResponse": {
                        "id": own["functionCall"]["id"],
                        "name": "mine",
                        "response": {"result": "mine"},
                    }
                }
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


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
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


TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool.function.name }},{% endfor %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
    "{% for call in m.tool_calls or [] %}<tool_call>"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}'
    "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.mark.parametrize("path", BODIES)
def test_tokens_stay_exact_over_runs_and_what_follows_them(path: str) -> None:
    """Each turn within an answer, and the first call after it, continues the ids that were sampled before."""
    codec = PairCodec(TEMPLATE)
    search = '<tool_call>{"name":  "web_search", "arguments": {"query": "capital of Peru"}}</tool_call>'
    texts = [f"I look. {search}", search, "Lima.", "Yes."]
    asked: list[list[int]] = []
    sampled: list[list[int]] = []

    def generate(ids: list[int], sampling: Sampling) -> GeneratedTokens:
        asked.append(ids)
        # One token for each character, which no tokenizer would give the text.
        sampled.append([*(codec.id_of(piece) for piece in texts[len(sampled)]), codec.end or 0])
        return GeneratedTokens(sampled[-1], [-0.5] * len(sampled[-1]), finish_reason="stop")

    async def run() -> LineageRecorder:
        client = GenerateClient(generate, codec)
        recorder = LineageRecorder(client, exact_tokens=True, tokenizer=codec)
        async with Gateway() as gateway:
            session = gateway.open(recorder, settings=settings())
            playing = SimpleNamespace(
                url=lambda path: f"{gateway.origin}/s/{session.id}{path}",
                headers={"Authorization": f"Bearer {session.api_key}"},
            )
            status, _, body = await post(playing, path, BODIES[path])
            assert status == 200, body
            status, _, body = await post(playing, path, continued(path, output(path, body), SAID[path]))
            assert status == 200, body
        return recorder

    tree = asyncio.run(run()).tree
    assert [call.parent for call in tree.calls] == [None, 0, 1, 2]
    for before, after in ((0, 1), (1, 2), (2, 3)):
        assert asked[after][: len(asked[before]) + len(sampled[before])] == asked[before] + sampled[before]
    assert all(call.exact for call in tree.calls[1:])
    assert certify_calls(tree).faults == []
    (row,) = leaf_rows(tree, side=True)[0]
    own = [token for token, call in zip(row.token_ids, row.calls, strict=True) if call >= 0]
    assert own == [token for ids in sampled for token in ids]


@pytest.mark.nightly  # reading the packages' types takes 4 s
def test_answers_have_the_official_packages_types(play: Any) -> None:
    """Items, blocks and events of runs are those that the clients of the interfaces read."""
    openai = pytest.importorskip("openai.types.responses")
    anthropic = pytest.importorskip("anthropic.types")
    pydantic = pytest.importorskip("pydantic")

    async def run() -> None:
        for path, types in (("/v1/responses", openai), ("/v1/messages", anthropic)):
            for stream in (False, True):
                async with play([calls(SEARCH, CODE, OWN)], settings=settings()) as playing:
                    body = (await post(playing, path, {**BODIES[path], "stream": stream}))[2]
                if not stream:
                    whole = types.Response if types is openai else types.Message
                    pydantic.TypeAdapter(whole).validate_json(body)
                    continue
                event = types.ResponseStreamEvent if types is openai else types.RawMessageStreamEvent
                adapter = pydantic.TypeAdapter(event)
                for line in body.decode().splitlines():
                    if line.startswith("data: "):
                        adapter.validate_json(line[6:])

    asyncio.run(run())


def test_sessions_do_not_share_variables(play: Any) -> None:
    """What one program computes, the program of another session does not see."""

    async def run() -> None:
        shared = settings()
        kept = ("code_interpreter", {"code": "print(x)"})
        async with (
            play([calls(CODE), said(), calls(kept), said()], settings=shared) as one,
            play([calls(kept), said()], settings=shared) as other,
        ):
            for playing in (one, other, one):
                await post(playing, "/v1/messages", BODIES["/v1/messages"])
            assert "NameError" in other.client.prompts[1][2]["content"]
            assert one.client.prompts[3][2]["content"].endswith("6")

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
        declared_tools(specs)


def test_a_tool_with_other_arguments_is_refused() -> None:
    """A search takes a query, an interpreter code."""
    with pytest.raises(ArgumentError, match="query"):
        declared_tools({"web_search": PythonTool()})
