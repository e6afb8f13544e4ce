"""Tools made from functions."""

from __future__ import annotations

import copy
import datetime
import enum
import json
import math
import pickle
import threading
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from gem.errors import ToolError
from gem.tools import FunctionTool, ToolCall, ToolResult, tool

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


@tool
def book(  # noqa: D417  # parameters without a description are part of the test
    title: str,
    count: int = 1,
    *,
    day: datetime.date | None = None,
    kind: Literal["paper", "audio"] = "paper",
    tags: list[str] = [],  # noqa: B006  # defaults must not be shared between calls
) -> str:
    """Order a book.

    Delivery takes
    a day.

    Args:
        title: what it is called; for example:
            "Middlemarch: a study".
        count (int): how many, at least 1.
        day: when.

    Returns:
        A receipt.
    """
    tags.append("ordered")
    return f"{count} x {title}, {day}, {kind}, {tags}"


class Shop:
    """Has methods that become tools."""

    def __init__(self) -> None:
        self.sold = 0

    def sell(self, amount: int) -> int:
        """Sell some."""
        self.sold += amount
        return self.sold

    def count(self) -> int:
        """Say how much was sold."""
        return self.sold


def call(function: FunctionTool, **arguments: Any) -> ToolResult:
    return function.call(ToolCall(function.name, arguments))


def test_schema_comes_from_hints_and_docstring() -> None:
    """The function schema is what a chat API wants, without pydantic's titles."""
    assert book.to_openai() == {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Order a book.\n\nDelivery takes\na day.",
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "required": ["title"],
                "properties": {
                    "title": {
                        "type": "string",
                        "description": 'what it is called; for example: "Middlemarch: a study".',
                    },
                    "count": {"type": "integer", "default": 1, "description": "how many, at least 1."},
                    "day": {
                        "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                        "default": None,
                        "description": "when.",
                    },
                    "kind": {"type": "string", "enum": ["paper", "audio"], "default": "paper"},
                    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                },
            },
        },
    }


def test_arguments_are_converted() -> None:
    """JSON values become what the hints say, and defaults are new for each call."""
    for _ in range(2):
        result = call(book, title="Emma", count="2", day="2030-01-02")
        assert result == ToolResult("2 x Emma, 2030-01-02, paper, ['ordered']")


def test_bad_arguments_are_all_named() -> None:
    """The agent learns of every problem at once, and the function is not called."""
    result = call(book, count="many", size=3)
    assert not result.ok
    assert "title: Field required" in result.text
    assert "count: Input should be a valid integer" in result.text
    assert "size: Extra inputs are not permitted" in result.text


def test_many_problems_are_counted_only() -> None:
    """A thousand wrong items do not become a thousand lines."""
    result = call(book, title="x", tags=[1] * 1000)
    assert result == ToolResult("book was not called: 1000 problems with its arguments.", ok=False)


def test_a_decorated_function_stays_callable() -> None:
    """Tests and other code call it as before."""
    assert book("Emma", 3, kind="audio") == "3 x Emma, None, audio, ['ordered']"
    assert book.__doc__ is not None
    assert book.__doc__.startswith("Order a book.")


def test_names_that_collide_with_the_model_are_fine() -> None:
    """Parameters may be called like pydantic's methods, or begin with an underscore."""

    def odd(json: int, copy: int, model_config: int, _hidden: int, argument_0: int = 5) -> int:
        return json + copy + model_config + _hidden + argument_0

    made = tool(odd)
    assert set(made.to_openai()["function"]["parameters"]["properties"]) == {
        "json",
        "copy",
        "model_config",
        "_hidden",
        "argument_0",
    }
    assert call(made, json=1, copy=2, model_config=3, _hidden=4).text == "15"
    assert not call(made, json=1, copy=2, model_config=3, _hidden=4, argument_1=5).ok


def test_rich_types_are_checked() -> None:
    """Nested models, enums and constraints work as in pydantic."""

    def draw(points: list[Point], colour: Colour, width: Annotated[float, Field(gt=0)] = 1.0) -> str:
        return f"{points[0].x}, {colour}, {width}"

    made = tool(draw)
    assert call(made, points=[{"x": 1}], colour="red").text == "1, Colour.RED, 1.0"
    assert not call(made, points=[{"y": 1}], colour="red").ok
    assert not call(made, points=[{"x": 1}], colour="green").ok
    assert not call(made, points=[{"x": 1}], colour="red", width=0).ok
    assert "$defs" in made.to_openai()["function"]["parameters"]


def test_parameters_without_hints_take_anything() -> None:
    """A function needs no types to become a tool."""

    def same(value, other=None):  # type: ignore[no-untyped-def]
        return [value, other]

    assert call(tool(same), value={"a": [1]}).data == [{"a": [1]}, None]


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        ("text", "text", None),
        ({"a": 1, "b": [None, "ß"]}, '{"a": 1, "b": [null, "ß"]}', {"a": 1, "b": [None, "ß"]}),
        ((1, 2), "[1, 2]", [1, 2]),
        (3.5, "3.5", 3.5),
        (True, "true", True),
        (Point(x=1), '{"x": 1, "y": 0}', {"x": 1, "y": 0}),
        (datetime.date(2030, 1, 2), '"2030-01-02"', "2030-01-02"),
        (Colour.RED, '"red"', "red"),
        (float("nan"), "nan", None),
        (None, "The call was carried out; it returns nothing.", None),
    ],
)
def test_results_become_text(value: Any, text: str, data: Any) -> None:
    """A str is shown as it is, JSON as JSON with the value kept, anything else as its str."""

    def give() -> Any:
        return value

    assert call(tool(give)) == ToolResult(text, data=data)


def test_what_json_cannot_hold_is_shown_as_text() -> None:
    """An object of the program's own does not make the call fail."""

    class Thing:
        def __str__(self) -> str:
            return "a thing"

    def give() -> object:
        return Thing()

    assert call(tool(give)) == ToolResult("a thing")


def test_a_tool_result_is_passed_on() -> None:
    """A function may say itself that it failed, or add pictures."""
    answer = ToolResult("no", ok=False, content=({"type": "image_url", "image_url": {"url": "data:,"}},))

    def give() -> ToolResult:
        return answer

    assert call(tool(give)) is answer


def test_what_the_function_raises_is_a_failed_call() -> None:
    """The agent is told, the caller is not."""

    def divide(a: int, b: int) -> float:
        return a / b

    assert call(tool(divide), a=1, b=0) == ToolResult("divide failed: ZeroDivisionError: division by zero", ok=False)


def test_a_tag_holds_the_one_required_string() -> None:
    """Arguments with defaults may be there as well, for calls by name."""

    @tool(tag="find", name="search", description="Look it up.")
    def search_(query: str, limit: int = 3) -> str:
        return f"{limit}: {query}"

    assert (search_.name, search_.description) == ("search", "Look it up.")
    assert search_.respond("so <find>\n who \n</find>.") == ("so <find>\n who \n</find>", ToolResult("3: who"))


@pytest.mark.parametrize("tag", ["a b", "tool_call", ""])
def test_a_bad_tag_is_refused(tag: str) -> None:
    """A tag that is no tag is an error of the declaration."""
    with pytest.raises(ToolError):
        tool(tag=tag)(_one_string)


def _one_string(query: str) -> str:
    return query


def _variadic(*values: int) -> None: ...


def _variadic_names(**values: int) -> None: ...


def _positional(value: int, /) -> None: ...


def _unresolved(value: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _uncheckable(value: threading.Thread) -> None: ...


def _no_schema(value: Callable[[], int]) -> None: ...


async def _several_values(value: int) -> AsyncIterator[int]:
    yield value


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_variadic, "by keyword"),
        (_variadic_names, "by keyword"),
        (_positional, "by keyword"),
        (_unresolved, "signature cannot be read"),
        (_uncheckable, "pydantic cannot check"),
        (_no_schema, "no JSON schema"),
        (_several_values, "one value"),
        (math.sqrt, "by keyword"),
        (Shop.sell, "bound method"),
        (lambda value: value, "1 to 64"),
        (book, "by keyword"),
        (3, "one value"),
        (int, "signature cannot be read"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(function: Any, message: str) -> None:
    """The message says what stands in the way."""
    with pytest.raises(ToolError, match=message):
        FunctionTool(function)


def test_a_tag_needs_one_required_string() -> None:
    """Two required arguments cannot both be the content of the tag."""

    def two(a: str, b: str) -> None: ...

    def number(a: int) -> None: ...

    for function in (two, number):
        with pytest.raises(ToolError, match="one required argument"):
            FunctionTool(function, tag="x")


def test_a_default_that_json_cannot_hold_is_left_out_of_the_schema() -> None:
    """It still is the default."""
    marker = object()

    def give(value: Any = marker) -> bool:
        return value is marker

    made = tool(give)
    assert made.to_openai()["function"]["parameters"]["properties"] == {"value": {}}
    assert call(made).data is True


def test_a_decorated_function_is_pickled_by_name() -> None:
    """It comes back as the same object, and a copy is the same object too."""
    assert pickle.loads(pickle.dumps(book)) is book
    assert copy.deepcopy(book) is book


def test_a_tool_of_a_function_is_pickled_with_it() -> None:
    """A tool that has no name of its own in the module is made again."""
    made = FunctionTool(_one_string, name="ask", description="Ask.", tag="ask")
    again = pickle.loads(pickle.dumps(made))
    assert again.to_openai() == made.to_openai()
    assert again.respond("<ask>x</ask>") == made.respond("<ask>x</ask>")


def test_copies_of_methods_share_one_copy_of_their_object() -> None:
    """Two tools of one object stay two tools of one object, and are independent of the original."""
    shop = Shop()
    sell, count = copy.deepcopy([tool(shop.sell), tool(shop.count)])
    call(sell, amount=3)
    assert (call(count).data, shop.sold) == (3, 0)


@given(st.dictionaries(st.sampled_from(["title", "count", "day", "kind", "tags", "x", "\ud800"]), ANYTHING))
def test_no_arguments_raise(arguments: dict[str, Any]) -> None:
    """Whatever JSON an agent sends, the call returns a result that can be written down."""
    result = call(book, **arguments)
    json.dumps(result.text).encode()
    assert result.text.encode()
