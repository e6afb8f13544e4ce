"""Descriptions become services: what is simulated, what is refused by name, and what the operations do."""

from __future__ import annotations

import copy
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthesis_documents import bicycles, library, library_spec

from gem_envs_desk.domain import RefusedCallError
from gem_envs_desk.synthesis.documents import read_document, references
from gem_envs_desk.synthesis.errors import DescriptionError
from gem_envs_desk.synthesis.making import service_tasks
from gem_envs_desk.synthesis.openapi import spec_of_openapi
from gem_envs_desk.synthesis.service import SimulatedService
from gem_envs_desk.synthesis.store_spec import StoreSpec
from gem_envs_desk.synthesis.tool_graph import ToolGraph
from gem_envs_desk.synthesis.tool_list import spec_of_tools

BICYCLES = spec_of_tools(bicycles(), "bikes.json")
BOOKS = [
    {"id": 1, "title": "A", "pages": 100, "genre": "crime"},
    {"id": 2, "title": "B", "pages": 25, "genre": "poetry"},
    {"id": 3, "title": "C"},
]
LOANS = [{"loanId": "l1", "reader": "Ada", "book_id": 2}]


def service() -> SimulatedService:
    return SimulatedService(library_spec(), {"book": BOOKS, "loan": LOANS})


def test_paths_and_schemas_say_what_operations_do() -> None:
    """Each operation has the kind that its path and its schemas show; the rest is refused by name, with the reason."""
    assert {name: (one.kind, one.type) for name, one in library_spec().operations.items()} == {
        "list_books": ("list", "book"),
        "add_book": ("create", "book"),
        "get_book": ("read", "book"),
        "change_book": ("update", "book"),
        "delete_book": ("delete", "book"),
        "list_loans": ("list", "loan"),
        "lend": ("create", "loan"),
        "get_loan": ("read", "loan"),
        "return_book": ("delete", "loan"),
    }
    assert library_spec().types["loan"].links == {"book_id": "book"}
    assert set(library_spec().refused) == {"burn_book", "statistics"}
    assert "no JSON body" in library_spec().refused["burn_book"]


def test_names_and_effects_say_what_tools_do() -> None:
    """Verbs decide, and an effect where the name says nothing; a tool with neither is refused."""
    assert {name: (one.kind, one.type) for name, one in BICYCLES.operations.items()} == {
        "add_bike": ("create", "bike"),
        "get_bike": ("read", "bike"),
        "list_bikes": ("list", "bike"),
        "search_bookings": ("list", "booking"),
        "book_bike": ("create", "booking"),
        "cancel_booking": ("update", "booking"),
    }
    assert list(BICYCLES.refused) == ["polish_bike"]
    assert BICYCLES.types["booking"].links == {"bike_id": "bike"}


def test_edges_lead_from_answers_to_arguments() -> None:
    """A tool follows another one if the answer holds the key that it takes, directly or as a link."""
    edges = {(edge.producer, edge.consumer, edge.type) for edge in ToolGraph(library_spec()).edges}
    assert ("list_books", "lend", "book") in edges
    assert ("get_loan", "get_book", "book") in edges
    assert ("delete_book", "get_book", "book") not in edges
    assert not any(consumer == "list_loans" for _, consumer, _ in edges)


def test_lists_are_filtered_and_cut() -> None:
    """A query parameter named like a property filters, ``limit`` cuts, and the answer has the form of its schema."""
    books = service().call("list_books", {"genre": "crime"})
    assert books == {"books": [BOOKS[0]]}
    assert service().call("list_books", {"limit": 2}) == {"books": BOOKS[:2]}
    assert service().call("list_loans", {}) == LOANS


def test_records_are_created_changed_and_deleted() -> None:
    """A new record gets a key; a change keeps what is not given; a deleted record is gone."""
    one = service()
    made = one.call("add_book", {"title": "D", "genre": "travel"})
    assert made == {"id": made["id"], "title": "D", "genre": "travel"}
    assert one.call("get_book", {"bookId": made["id"]}) == made
    assert one.call("change_book", {"bookId": 1, "title": "E"})["pages"] == 100
    one.call("delete_book", {"bookId": 1})
    with pytest.raises(RefusedCallError, match="404: there is no book with id 1"):
        one.call("get_book", {"bookId": 1})


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("add_book", {}, "400: 'title' is a required property"),
        ("add_book", {"title": 7}, "400: title: 7 is not of type 'string'"),
        ("add_book", {"title": "x", "colour": "red"}, "400: Additional properties"),
        ("add_book", {"title": "x", "pages": 5}, "400: pages: 5 is less than"),
        ("lend", {"reader": "Bo", "book_id": 77}, "404: there is no book with the key 77"),
        ("delete_book", {"bookId": 2}, "409: a loan still has the book_id 2"),
    ],
)
def test_calls_against_the_schema_are_refused(name: str, arguments: dict[str, Any], reason: str) -> None:
    """The answer gives the reason, and nothing has changed."""
    one = service()
    with pytest.raises(RefusedCallError, match=reason):
        one.call(name, arguments)
    assert one.dump() == service().dump()


def test_an_effect_has_its_condition() -> None:
    """A tool with ``where`` works on records in that state alone, and sets what its effect says."""
    booking = {"booking_id": "b", "bike_id": "k", "rider": "Ada", "days": 2, "status": "open"}
    one = SimulatedService(BICYCLES, {"bike": [{"bike_id": "k", "model": "x"}], "booking": [booking]})
    assert one.call("cancel_booking", {"booking_id": "b"})["status"] == "cancelled"
    with pytest.raises(
        RefusedCallError, match="409: cancel_booking needs status 'open', and the booking has 'cancelled'"
    ):
        one.call("cancel_booking", {"booking_id": "b"})
    assert one.call("book_bike", {"bike_id": "k", "rider": "Bo", "days": 3})["status"] == "open"


@given(st.permutations([{"title": "x"}, {"title": "y"}, {"title": "x"}, {"title": "z", "pages": 20}]))
def test_the_order_of_creations_leaves_no_trace(calls: list[dict[str, Any]]) -> None:
    """Keys of new records come from their content."""
    one, other = service(), service()
    for call in calls:
        one.call("add_book", call)
    for call in sorted(calls, key=str):
        other.call("add_book", call)
    assert one.dump() == other.dump()


@given(st.data())
def test_a_service_survives_json(data: st.DataObject) -> None:
    """A specification read back from JSON is the same."""
    spec = data.draw(st.sampled_from([library_spec(), BICYCLES]))
    assert StoreSpec.from_json(copy.deepcopy(spec.to_json())).to_json() == spec.to_json()


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.text("aé/{}#$\n", max_size=5), st.just([]), st.just({}),
    st.just({"$ref": "#/components/schemas/Book"}), st.just({"$ref": "#/nowhere"}), st.just({"$ref": "other.yaml"}),
    st.just({"type": "object", "properties": {"id": True}}), st.just([{"oneOf": [{}, {"type": "string"}]}]),
).map(copy.deepcopy)  # fmt: skip
"""Values to put anywhere; each is a copy, because what is put into a document may be spoilt as well."""


@settings(max_examples=max(10, settings().max_examples // 4))
@given(st.data())
def test_a_spoilt_document_is_a_service_or_a_clear_error(data: st.DataObject) -> None:
    """Any part may be anything, also a part that holds it: the result has tasks, or is the error of descriptions."""
    make = data.draw(st.sampled_from([library, bicycles]))
    document = make()
    for _ in range(data.draw(st.integers(1, 2))):
        _spoil(document, data, [])
    with suppress(DescriptionError):
        spec = (spec_of_openapi if make is library else spec_of_tools)(document, "a.json")
        assert spec.operations
        assert len(service_tasks(spec, 2, seed=0).tasks) == 2


def _spoil(value: Any, data: st.DataObject, above: list[Any]) -> None:
    """Replace or remove one value at any depth; it may become a value above it, so that this holds itself."""
    above = [*above, value]
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = data.draw(st.sampled_from(keys))
    if isinstance(value[key], (dict, list)) and value[key] and data.draw(st.integers(0, 5)):
        _spoil(value[key], data, above)
    elif data.draw(st.booleans()):
        value[key] = data.draw(VALUES | st.sampled_from(above))
    else:
        del value[key]


def test_a_document_that_holds_itself_is_read_once() -> None:
    """Wherever it holds itself, it is a service or a clear error, and a part in several places is seen once."""
    for place in (("info",), ("components", "schemas", "Book", "properties"), ("paths", "/books", "get", "tags")):
        document = library()
        part: Any = document
        for key in place:
            part = part.setdefault(key, [] if key == "tags" else {})
        part.append(document) if isinstance(part, list) else part.update(x=document)
        with suppress(DescriptionError):
            assert spec_of_openapi(document, "a.json").operations.keys() == library_spec().operations.keys()
    shared: dict[str, Any] = {"$ref": "#/a", "again": [{"$ref": "#/b"}]}
    shared["self"] = shared
    assert sorted(references([shared, [shared], {"x": shared}])) == ["#/a", "#/b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"a": ', "is not JSON"),
        ("a.json", b'{"a": NaN}', "NaN is no JSON number"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.yaml", b"a: [", "is not YAML"),
        ("a.yaml", b"a: 2026-02-31", "is not YAML"),
        ("a.yaml", b"a: !!python/object/apply:os.getcwd []", "is not YAML"),
        ("a.yaml", b"a: .inf", "which is no JSON number"),
        ("a.yaml", b"\xff\xfe\xff", "is not UTF-8"),
        ("a.yaml", b"a: &a [&b [x,x,x,x,x,x,x,x,x,x], *b]\n" + b"".join(
            b"k%d: &k%d [%s]\n" % (n, n, b",".join([b"*k%d" % (n - 1) if n else b"*a"] * 30)) for n in range(8)
        ), "more than 2,000,000 values"),
    ],
    ids=range(9),
)  # fmt: skip
def test_an_unreadable_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """The message names the file and the fault."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DescriptionError, match=message) as caught:
        read_document(path)
    assert str(path) in str(caught.value)


def test_records_are_found_in_their_wrapping() -> None:
    """A record that is the only property of a body or an answer is meant, as in ``{"note": {…}}``."""
    note = {"type": "object", "properties": {"id": {"type": "integer"}, "title": {"type": "string"}}}
    new = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}

    def wrapped(**properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "required": [*properties], "properties": properties}
        return {"content": {"application/json": {"schema": schema}}}

    one = {"responses": {"200": {"description": "", **wrapped(note=note)}}}
    many = wrapped(notes={"type": "array", "items": note}, notesCount={"type": "integer"})
    key = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Notes", "version": "1"},
        "paths": {
            "/notes": {
                "get": {"responses": {"200": {"description": "", **many}}},
                "post": {"requestBody": wrapped(note=new), **one},
            },
            "/notes/{id}": {"parameters": key, "get": one, "put": {"requestBody": wrapped(note=new), **one}},
        },
    }
    spec = spec_of_openapi(document, "notes.json")
    assert spec.refused == {}
    assert {one.kind for one in spec.operations.values()} == {"list", "create", "read", "update"}
    service = SimulatedService(spec, {"note": [{"id": 1, "title": "a"}]})
    assert service.call("post_notes", {"title": "b"})["title"] == "b"
    assert service.call("put_notes_id", {"id": 1, "title": "c"}) == {"id": 1, "title": "c"}


def test_a_document_in_parts_is_refused() -> None:
    """A reference to another document is not followed, neither to a file nor to a server."""
    document = library()
    document["components"]["schemas"]["Book"] = {"$ref": "https://example.org/book.json"}
    with pytest.raises(DescriptionError, match=r"refers to another document, 'https://example\.org/book\.json'"):
        spec_of_openapi(document, "library.json")
