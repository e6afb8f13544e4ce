"""Calls in Gemini's interface, as programs send them, and what its official client for Python makes of the answers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_calls import post
from test_gateway_foreign_clients import LONG, PICTURE, WEATHER, calling, saying
from test_gateway_own_dialects import conversations, samplings

from gem_eval.clients import ContextOverflow, ModelError, Sampling, ScriptedClient
from gem_eval.clients.gemini_dialect import gemini_request
from gem_gateway import CallBudget, Gateway
from gem_gateway.call_errors import ModelCallError
from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.gemini import GeminiDialect
from gem_gateway.limits import ExchangeLimits
from gem_gateway.lineages.normal_form import prefix_digests
from gem_gateway.lineages.recorder import LineageRecorder

PLAIN = "/v1beta/models/m:generateContent"
STREAM = "/v1beta/models/m:streamGenerateContent?alt=sse"
COUNT = "/v1beta/models/m:countTokens"
ASKED = {"contents": [{"role": "user", "parts": [{"text": "?"}]}]}
CITY = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "minLength": "1"}}, "required": ["city"]}
TOOLS = [{"functionDeclarations": [{"name": "weather", "description": "Tells.", "parameters": CITY}]}]


def told(name: str, **fields: Any) -> dict[str, Any]:
    """Return a part with the response of a function."""
    return {"functionResponse": {"name": name, **fields}}


def read(body: dict[str, Any], method: str = "generateContent") -> Any:
    """Return the call in a body."""
    return GeminiDialect("m", method).read(body, CallSettings())


def snake_case(value: Any) -> Any:
    """Return JSON with the names of its fields in snake case."""
    if isinstance(value, list):
        return [snake_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    names = {name: "".join(f"_{one.lower()}" if one.isupper() else one for one in name) for name in value}
    return {names[name]: snake_case(item) for name, item in value.items()}


def events(body: bytes) -> list[Any]:
    """Return the answers of a stream."""
    return [json.loads(event.removeprefix("data: ")) for event in body.decode().removesuffix("\n\n").split("\n\n")]


def test_a_call_reaches_the_model_whole_and_its_answer_the_program(play) -> None:
    """System prompt, pictures, functions, sampling; thoughts, calls and usage; and the same in a stream."""
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "And kind."}]},
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0K-_8="}}],
            }
        ],
        "tools": TOOLS,
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 64.0,
            "maxOutputTokens": 77,
            "stopSequences": ["###"],
            "seed": 3,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
        },
    }

    async def run() -> None:
        made = calling("Oslo", "Rome", text="Looking.", reasoning="Two cities.")
        async with play([made] * 3) as playing:
            for given_body in (body, snake_case(body)):
                _, _, answer = await post(playing, PLAIN, given_body)
                asked = playing.client.asked[-1]
                assert playing.client.prompts[-1] == [
                    {"role": "system", "content": "Be brief.\n\nAnd kind."},
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "?"},
                            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K+/8="}},
                        ],
                    },
                ]
                schema = {"type": "string", "minLength": 1}
                assert asked["tools"][0]["function"]["parameters"] == {
                    "type": "object",
                    "properties": {"city": schema},
                    "required": ["city"],
                }
                sampling = asked["sampling"]
                assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.5, 0.9, 77)
                assert (sampling.stop, sampling.seed) == (("###",), 3)
                assert sampling.extra == {
                    "top_k": 64,
                    "reasoning_effort": "low",
                    "tool_choice": {"type": "function", "function": {"name": "weather"}},
                }
            candidate = json.loads(answer)["candidates"][0]
            assert candidate["finishReason"] == "STOP"
            parts = candidate["content"]["parts"]
            assert parts[:2] == [{"text": "Two cities.", "thought": True}, {"text": "Looking."}]
            assert parts[2] == {"functionCall": {"id": "call0", "name": "weather", "args": {"city": "Oslo"}}}
            usage = json.loads(answer)["usageMetadata"]
            assert (usage["promptTokenCount"], usage["totalTokenCount"]) == (30, 41)
            assert (usage["candidatesTokenCount"], usage["thoughtsTokenCount"]) == (7, 4)
            assert usage["cachedContentTokenCount"] == 20
            _, _, stream = await post(playing, STREAM, body)
            *before, last = events(stream)
            assert [part for event in (*before, last) for part in event["candidates"][0]["content"]["parts"]] == parts
            assert last["usageMetadata"] == usage
            assert "finishReason" not in str(before)

    asyncio.run(run())


def test_the_end_of_an_answer_has_its_reason(play) -> None:
    """The limit of tokens and a filter, in the interface's words; a schema and JSON without one reach the model."""

    async def run() -> None:
        answers = [saying("cut", finish="length"), saying("no", finish="content_filter"), saying("{}")]
        forms = [
            {"responseMimeType": "application/json"},
            {"responseSchema": CITY},
            {"responseMimeType": "text/x.enum"},
        ]
        async with play(answers) as playing:
            reasons = []
            for form in forms:
                _, _, answer = await post(playing, PLAIN, {**ASKED, "generationConfig": form})
                reasons.append(json.loads(answer)["candidates"][0]["finishReason"])
            assert reasons == ["MAX_TOKENS", "SAFETY", "STOP"]
            plain, schema, none = [asked["response_format"] for asked in playing.client.asked]
            assert (plain, none) == ({"type": "json_object"}, None)
            assert schema["json_schema"]["schema"]["properties"]["city"]["type"] == "string"
            assert any("text/x.enum" in note for note in playing.session.calls.notes)

    asyncio.run(run())


def test_what_a_stream_brought_in_pieces_comes_back_as_one_answer(play) -> None:
    """Contents of the model in a row are one message, whose thoughts and texts are joined as they came."""

    async def run() -> None:
        async with play([calling("Oslo", text=LONG, reasoning=LONG), saying("Rain.")]) as playing:
            body = {**ASKED, "tools": TOOLS, "generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
            _, _, stream = await post(playing, STREAM, body)
            echo = [event["candidates"][0]["content"] for event in events(stream)]
            assert len(echo) > 5
            result = {"role": "user", "parts": [told("weather", id="call0", response={"result": "Rain"})]}
            await post(playing, PLAIN, {**body, "contents": [*ASKED["contents"], *echo, result]})
            _, answer, tool = playing.client.prompts[-1]
            assert (answer["content"], answer["reasoning_content"]) == (LONG, LONG)
            assert json.loads(answer["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo"}
            assert tool == {"role": "tool", "tool_call_id": "call0", "content": "Rain"}

    asyncio.run(run())


def test_responses_without_ids_belong_to_the_calls_of_their_names() -> None:
    """In the order of the calls of one name; with ids, and with ids that a program has made, as these say."""
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("look", "move", "look")]
    responses = [told("look", response={"output": "a"}), told("look", response={"b": 1}), told("move")]
    call = read({"contents": [*ASKED["contents"], {"role": "model", "parts": calls}, {"parts": responses}]})
    _, answer, *results = call.messages
    assert [made["id"] for made in answer["tool_calls"]] == ["call_1", "call_2", "call_3"]
    assert [(one["tool_call_id"], one["content"]) for one in results] == [
        ("call_1", "a"),
        ("call_3", '{"b":1}'),
        ("call_2", ""),
    ]
    calls = [{"functionCall": {"id": mark, "name": "look"}} for mark in "xy"]
    responses = [told("look", id="y"), told("look", id="another")]
    call = read({"contents": [*ASKED["contents"], {"role": "model", "parts": calls}, {"parts": responses}]})
    assert [one["tool_call_id"] for one in call.messages[2:]] == ["y", "x"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "contents must be a list"),
        ({"contents": []}, "at least one content"),
        ({"contents": [{"role": "root", "parts": []}]}, "must be user or model"),
        ({"contents": [{"role": "model", "parts": [{"text": "x"}]}]}, "must not be the model's"),
        ({"contents": [{"parts": [told("look")]}]}, "no call of it before"),
        ({"contents": [{"parts": [told("look", response=[1])]}]}, "must be an object"),
        ({"contents": [{"parts": [{"functionResponse": 5}]}]}, "must be an object"),
        ({"contents": [{"parts": [{"text": 5}]}]}, "must be a string"),
        ({**ASKED, "cachedContent": "cachedContents/1"}, "state that this gateway does not keep"),
        ({**ASKED, "systemInstruction": "x"}, "systemInstruction must be a content"),
        ({**ASKED, "generationConfig": {"candidateCount": 2}}, "candidateCount must be 1"),
        ({**ASKED, "generationConfig": {"temperature": "hot"}}, "temperature"),
        ({**ASKED, "generationConfig": {"responseSchema": []}}, "must be a schema"),
        ({**ASKED, "generationConfig": 5}, "generationConfig must be an object"),
        ({**ASKED, "tools": [{"functionDeclarations": [{"name": ""}]}]}, "must be a string that is not empty"),
        ({**ASKED, "tools": TOOLS, "toolConfig": {"functionCallingConfig": {"mode": "SOME"}}}, "AUTO, ANY, VALIDATED"),
        (
            {**ASKED, "tools": TOOLS, "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["x"]}}},
            "which is not declared",
        ),
    ],
)
def test_a_malformed_call_is_refused_in_words(body: dict[str, Any], said: str) -> None:
    """Each rule that a body can break has its own."""
    with pytest.raises(ModelCallError, match=said):
        read(body)


def test_schemas_inside_each_other_have_a_limit() -> None:
    """No body exhausts the stack."""
    schema: dict[str, Any] = {"type": "STRING"}
    for _ in range(300):
        schema = {"type": "ARRAY", "items": schema}
    with pytest.raises(ModelCallError, match="more than 64 schemas"):
        read({**ASKED, "generationConfig": {"responseSchema": schema}})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "parts", "name"]), inner),
    max_leaves=8,
)
FIELDS = ["contents", "tools", "toolConfig", "systemInstruction", "generationConfig", "cachedContent", "labels"]
PARTS = ["text", "thought", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "x"]
parts = st.dictionaries(st.sampled_from(PARTS), json_values, max_size=2)
contents = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": st.lists(parts, max_size=3)}),
    max_size=3,
)


@given(st.dictionaries(st.sampled_from(FIELDS), json_values), contents | json_values)
def test_any_body_is_a_call_or_refused(body: dict[str, Any], said: Any) -> None:
    """Whatever a body holds, nothing but a refusal is raised."""
    for method in ("generateContent", "countTokens"):
        with suppress(ModelCallError):
            json.dumps(read({**body, "contents": said}, method).messages)


words = st.text(min_size=1, max_size=5)
values = st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | words
arguments = st.dictionaries(
    st.sampled_from(["city", "functionCall", "max_turns"]), values | st.lists(values, max_size=2), max_size=2
)
turns = st.lists(
    st.tuples(words, st.lists(st.tuples(st.sampled_from(["look", "move"]), arguments), max_size=3)), max_size=4
)


@given(st.booleans(), words, turns, st.booleans())
def test_a_conversation_is_the_same_after_the_way_to_a_server_and_back(
    has_system: bool, question: str, turns: list[Any], has_ids: bool
) -> None:
    """As a client writes it for a server of the interface, and as the gateway reads it, with call ids or without."""
    talk: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}] if has_system else []
    talk.append({"role": "user", "content": question})
    for number, (text, calls) in enumerate(turns):
        made = [
            {"id": f"c{number}{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for place, (name, given) in enumerate(calls)
        ]
        talk.append({"role": "assistant", "content": text, **({"tool_calls": made} if made else {})})
        results = [{"role": "tool", "tool_call_id": one["id"], "content": f"{number} {text}"} for one in made]
        talk += results or [{"role": "user", "content": text}]
    body = json.loads(json.dumps(gemini_request("m", talk, None, Sampling(), None)))
    for part in (part for content in body["contents"] for part in content["parts"]):
        if not has_ids:
            part.get("functionCall", part.get("functionResponse", {})).pop("id", None)
    assert prefix_digests(read(body).messages, None) == prefix_digests(talk, None)


def test_errors_have_the_interface_s_form_and_status(play) -> None:
    """A used-up budget, a prompt that is too long, a wrong key, a stream of another form, a path of nothing."""

    async def run() -> None:
        answers = [saying("yes"), ContextOverflow("9000 tokens"), ModelError("server_error", "at 10.0.0.1")]
        async with play(answers, CallBudget(calls=3)) as playing:
            wrong = {"Authorization": f"Bearer {'x' * 20}"}
            seen = []
            for path, body, headers in (
                (PLAIN, ASKED, {}),
                (PLAIN, ASKED, {}),
                (PLAIN, ASKED, {}),
                (STREAM.partition("?")[0], ASKED, {}),
                (PLAIN, ASKED, {}),
                (PLAIN, ASKED, wrong),
                ("/v1beta/models/m:embedContent", ASKED, {}),
            ):
                status, head, answer = await post(playing, path, body, headers=headers)
                error = json.loads(answer).get("error", {})
                assert error.get("code", 200) == status
                assert status == 200 or head["x-should-retry"] == "false"
                seen.append((status, error.get("status"), error.get("message", "")[:49]))
            assert seen == [
                (200, None, ""),
                (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number "),
                (502, "UNAVAILABLE", "the model gave no answer (server_error)"),
                (400, "INVALID_ARGUMENT", "a stream comes as server-sent events: ask for :st"),
                (400, "FAILED_PRECONDITION", "the budget of this episode is used up: calls, at "),
                (401, "UNAUTHENTICATED", "the key opens no session here: it is wrong, or th"),
                (404, "NOT_FOUND", "there is nothing at '/v1beta/models/m:embedContent"[:49]),
            ]

    asyncio.run(run())


def test_the_key_of_google_s_clients_opens_the_session_with_and_without_its_path(play) -> None:
    """``x-goog-api-key`` alone; the models and the tokens of a prompt can be asked for."""
    import aiohttp

    async def run() -> None:
        async with play([saying("yes")]) as playing:
            origin = playing.gateway.origin
            async with aiohttp.ClientSession(headers={"x-goog-api-key": playing.session.api_key}) as client:
                async with client.post(f"{origin}/v1/models/a%2Fb:generateContent", json=ASKED) as answer:
                    assert (await answer.json())["candidates"][0]["content"]["parts"] == [{"text": "yes"}]
                async with client.get(playing.url("/v1beta/models")) as answer:
                    assert (await answer.json())["models"][0]["name"] == "models/scripted"
                async with client.get(playing.url("/v1beta/models/scripted")) as answer:
                    assert (await answer.json())["displayName"] == "scripted"
                counted = []
                for body in (
                    {"contents": [{"parts": [{"text": "word " * 1000}]}]},
                    {"generateContentRequest": {**ASKED, "systemInstruction": {"parts": [{"text": "word " * 10}]}}},
                ):
                    async with client.post(playing.url(COUNT), json=body) as answer:
                        counted.append((await answer.json())["totalTokens"])
                assert counted[0] > 1000 > counted[1] > 10

    asyncio.run(run())


def test_separators_of_lines_in_a_stream_are_escaped(play) -> None:
    """Google's client for JavaScript cuts a stream with an expression whose full stop matches no line separator."""
    text = "a\u2028b\u2029c"

    async def run() -> None:
        async with play([saying(text)]) as playing:
            _, _, stream = await post(playing, STREAM, ASKED)
            assert "\u2028" not in stream.decode()
            assert events(stream)[0]["candidates"][0]["content"]["parts"] == [{"text": text}]

    asyncio.run(run())


def test_a_conversation_is_one_lineage_however_its_program_echoes_it() -> None:
    """Thoughts dropped, ids left out, arguments in another order: each call continues the one before."""

    async def run() -> None:
        client = ScriptedClient([calling("Oslo", reasoning="Hm."), calling("Rome", text="Next."), saying("Done.")])
        async with Gateway() as gateway:
            recorder = LineageRecorder(client)
            session = gateway.open(recorder)

            playing = SimpleNamespace(
                headers={"x-goog-api-key": session.api_key}, url=lambda path: session.base_url("gemini") + path
            )
            said: list[Any] = list(ASKED["contents"])
            for _ in range(3):
                _, _, answer = await post(playing, PLAIN, {"contents": said, "tools": TOOLS})
                content = json.loads(answer)["candidates"][0]["content"]
                for part in content["parts"]:
                    part.get("functionCall", {}).pop("id", None)
                said += [content, {"role": "user", "parts": [told("weather", response={"output": "Rain"})]}]
            assert [call.parent for call in recorder.tree.calls] == [None, 0, 1]
            assert {call.dialect for call in recorder.tree.calls} == {"gemini"}
            await session.close()

    asyncio.run(run())


@pytest.fixture(scope="module")
def google_python() -> Iterator[str]:
    """A Python that has Google's client, which needs other releases of libraries than ours."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    with TemporaryDirectory() as folder:
        python = str(Path(folder, "bin", "python"))
        subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "--clear", "-p", sys.executable, folder], check=True)
        subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", "-p", python, "google-genai"], check=True)
        yield python


async def google_client(python: str, what: str, playing: Any) -> Any:
    """Return what the program with Google's client has seen."""
    script = str(Path(__file__).with_name("google_client.py"))
    session = playing.session
    command = [python, script, what, session.base_url("gemini"), session.api_key]
    program = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await asyncio.wait_for(program.communicate(), 120)
    assert program.returncode == 0
    return json.loads(output)


@pytest.mark.nightly
def test_google_s_client_waits_for_a_slow_model(play, google_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life are nothing to it, and an error after them is the error that the gateway tells."""
    ping, pinged = GeminiDialect.ping, asyncio.Event()

    def noticed(_: GeminiDialect) -> bytes:
        pinged.set()
        return ping

    async def slow(_: Any) -> Any:
        await pinged.wait()
        pinged.clear()
        return answers.pop(0)

    answers = [saying(LONG), ModelError("server_error", "no")]
    monkeypatch.setattr(GeminiDialect, "ping", property(noticed))

    async def run() -> None:
        async with play(slow, limits=ExchangeLimits(ping_seconds=0.01)) as playing:
            seen = await google_client(google_python, "stream_twice", playing)
            assert seen == {"streamed": LONG, "error": [502, "UNAVAILABLE"]}

    asyncio.run(run())


@pytest.mark.nightly
def test_requests_have_google_s_types(google_python: str) -> None:
    """Whatever a conversation holds, the bodies for a server of the interface fit the types that Google publishes."""
    bodies = []

    @settings(max_examples=200)
    @given(conversations, st.booleans(), samplings)
    def make(messages: list[dict[str, Any]], tools: bool, sampling: Sampling) -> None:
        offered = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}] if tools else None
        bodies.append(gemini_request("m", messages, offered, sampling, None))

    make()
    command = [google_python, str(Path(__file__).with_name("google_client.py")), "check_types"]
    checked = subprocess.run(command, input=json.dumps(bodies), capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert int(checked.stdout) == len(bodies) > 100


@pytest.mark.nightly
def test_google_s_client_plays_through_the_gateway(play, google_python: str) -> None:
    """Chats, streams, functions that it calls itself, schemas, pictures, counts and errors, as its users write them."""

    async def run() -> None:
        answers = [
            saying(LONG),
            saying("Two.", reasoning="Hm."),
            calling("Oslo", "Rome"),
            saying("Rain in both."),
            saying('{"city": "Oslo", "people": 7}'),
            saying("cut", finish="length"),
        ]
        async with play(answers, CallBudget(calls=6)) as playing:
            seen = await google_client(google_python, "play", playing)
            assert seen["streamed"] == LONG
            assert seen["thought"] == [["Hm.", True], ["Two.", None]]
            assert seen["called"] == ["Oslo", "Rome"]
            assert seen["said"] == "Rain in both."
            assert seen["parsed"] == {"city": "Oslo", "people": 7}
            assert seen["cut"] == "MAX_TOKENS"
            assert seen["counted"] > 100
            assert seen["models"] == ["models/scripted"]
            assert seen["error"] == [400, "FAILED_PRECONDITION"]
            assert seen["stream error"] == [400, "FAILED_PRECONDITION"]
            first, second, third, fourth, fifth, _ = playing.client.prompts
            assert first[0] == {"role": "system", "content": "Be brief."}
            assert second[2] == {"role": "assistant", "content": LONG}
            assert third[-1]["content"][1]["image_url"]["url"] == PICTURE
            assert [message["content"] for message in fourth[-2:]] == ["Rain", "Rain"]
            asked = playing.client.asked
            assert asked[2]["tools"][0]["function"]["parameters"]["properties"]["city"]["type"] == "string"
            schema = asked[4]["response_format"]["json_schema"]["schema"]
            assert schema["properties"]["people"]["type"] == "integer"
            assert fifth[-1]["content"] == "Where?"

    asyncio.run(run())
