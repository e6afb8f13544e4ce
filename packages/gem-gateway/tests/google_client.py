"""A program that uses Google's client for Python as its documentation does; run by a Python that has it.

It takes what to do, the address of a gateway and a key, and writes what it has seen as JSON.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from google import genai
from google.genai import errors, types
from pydantic import BaseModel

PICTURE = base64.b64decode("iVBORw0KGgo=")


class Place(BaseModel):
    """The form of an answer."""

    city: str
    people: int


def stream_twice(client: genai.Client) -> dict[str, Any]:
    """Return the text of a stream, and the error of another."""
    text = "".join(chunk.text for chunk in client.models.generate_content_stream(model="m", contents="Slow?"))
    try:
        list(client.models.generate_content_stream(model="m", contents="Slow?"))
    except errors.APIError as error:
        return {"streamed": text, "error": [error.code, error.status]}
    return {"streamed": text}


def play(client: genai.Client) -> dict[str, Any]:
    """Return what was seen of chats, functions, schemas, counts and errors."""
    seen: dict[str, Any] = {}
    thinking = types.ThinkingConfig(include_thoughts=True, thinking_budget=100)
    chat = client.chats.create(
        model="m", config=types.GenerateContentConfig(system_instruction="Be brief.", thinking_config=thinking)
    )
    seen["streamed"] = "".join(chunk.text or "" for chunk in chat.send_message_stream("One?"))
    answer = chat.send_message("Two?")
    seen["thought"] = [[part.text, part.thought] for part in answer.candidates[0].content.parts]

    called = []

    def weather(city: str) -> str:
        """Return the weather of a city."""
        called.append(city)
        return "Rain"

    answer = client.models.generate_content(
        model="m",
        contents=["What is this?", types.Part.from_bytes(data=PICTURE, mime_type="image/png")],
        config=types.GenerateContentConfig(tools=[weather], temperature=0.5),
    )
    seen["called"], seen["said"] = called, answer.text
    answer = client.models.generate_content(
        model="m",
        contents="Where?",
        config=types.GenerateContentConfig(response_mime_type="application/json", response_schema=Place),
    )
    seen["parsed"] = answer.parsed.model_dump()
    answer = client.models.generate_content(model="m", contents="Long?")
    seen["cut"] = answer.candidates[0].finish_reason.value
    seen["counted"] = client.models.count_tokens(model="m", contents="word " * 100).total_tokens
    seen["models"] = [model.name for model in client.models.list()]
    try:
        client.models.generate_content(model="m", contents="More?")
    except errors.APIError as error:
        seen["error"] = [error.code, error.status]
    try:
        list(client.models.generate_content_stream(model="m", contents="More?"))
    except errors.APIError as error:
        seen["stream error"] = [error.code, error.status]
    return seen


def check_types(bodies: list[dict[str, Any]]) -> int:
    """Raise pydantic's error for the first body that Google's types do not take; return how many there are."""
    kinds = {
        "systemInstruction": types.Content,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    for body in bodies:
        for content in body["contents"]:
            types.Content.model_validate(content)
        for tool in body.get("tools", ()):
            types.Tool.model_validate(tool)
        for name, kind in kinds.items():
            if name in body:
                kind.model_validate(body[name])
        assert set(body) <= {"contents", "tools", *kinds}
    return len(bodies)


if __name__ == "__main__":
    if sys.argv[1] == "check_types":
        print(check_types(json.load(sys.stdin)))
        sys.exit()
    what, url, key = sys.argv[1:]
    google = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=url))
    print(json.dumps({"play": play, "stream_twice": stream_twice}[what](google)))
