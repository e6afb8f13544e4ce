"""Attributes as JSON values by their declared types, and back."""

from __future__ import annotations

import json
from contextlib import suppress
from enum import Enum
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError, StateError
from gem.state_fields import StateFields


class Card(NamedTuple):
    """A value with named parts."""

    suit: str
    rank: int


class Colour(Enum):
    """A value of an enum."""

    RED = "red"
    BLUE = "blue"


CASES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "bool": (bool, st.booleans()),
    "int": (int, st.integers()),
    "float": (float, st.floats(allow_nan=False, allow_infinity=False)),
    "str": (str, st.text()),
    "none": (None, st.none()),
    "optional": (int | None, st.none() | st.integers()),
    "old optional": (Optional[str], st.none() | st.text()),  # noqa: UP045
    "union": (str | list[int], st.text() | st.lists(st.integers())),
    "literal": (Literal["a", 1], st.sampled_from(["a", 1])),
    "enum": (Colour, st.sampled_from(Colour)),
    "named tuple": (Card, st.builds(Card, st.text(), st.integers())),
    "list": (list[list[int]], st.lists(st.lists(st.integers()))),
    "tuple": (tuple[int, str], st.tuples(st.integers(), st.text())),
    "long tuple": (tuple[int, ...], st.lists(st.integers()).map(tuple)),
    "set": (set[str], st.sets(st.text())),
    "frozenset": (frozenset[tuple[int, int]], st.frozensets(st.tuples(st.integers(), st.integers()))),
    "dict": (dict[str, int], st.dictionaries(st.text(), st.integers())),
    "dict of pairs": (
        dict[tuple[int, int], Card],
        st.dictionaries(st.tuples(st.integers(), st.integers()), st.builds(Card, st.text(), st.integers())),
    ),
    "any": (Any, st.dictionaries(st.text(), st.none() | st.lists(st.integers()))),
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_values_survive_the_trip_through_json(case: str, data: st.DataObject) -> None:
    """With their types, and sharing nothing with what was saved."""
    kind, values = CASES[case]
    fields = StateFields(value=kind)
    value = data.draw(values)
    owner, other = SimpleNamespace(value=value), SimpleNamespace()
    episode = fields.save(owner)
    fields.load(other, json.loads(json.dumps(episode)))
    assert other.value == value
    assert type(other.value) is type(value)
    if isinstance(value, (list, set, dict)):
        assert other.value is not value


@pytest.mark.parametrize("case", CASES)
@given(value=json_values)
def test_what_does_not_fit_is_refused_by_name(case: str, value: Any) -> None:
    """Load names the field and assigns nothing; or it takes the value, which then has the declared type."""
    fields = StateFields(first=int, value=CASES[case][0])
    owner = SimpleNamespace(first=1)
    with suppress(ArgumentError):
        fields.load(owner, {"first": 2, "value": value})
        fields.save(owner)
        return
    assert vars(owner) == {"first": 1}
    with pytest.raises(ArgumentError, match=r"^value: "):
        fields.load(owner, {"first": 2, "value": value})


@pytest.mark.parametrize("episode", [None, [], {}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": True, "b": 2}])
def test_an_episode_has_exactly_the_declared_fields(episode: Any) -> None:
    """A missing one, another one and one of another type are refused."""
    with pytest.raises(ArgumentError):
        StateFields(a=int, b=int).load(SimpleNamespace(), episode)


@pytest.mark.parametrize("value", [1.5, "1", None, [1], True])
def test_an_attribute_of_another_type_cannot_be_saved(value: Any) -> None:
    """The error names the attribute and its declared type."""
    with pytest.raises(StateError, match=r"SimpleNamespace\.a, declared as <class 'int'>, cannot be saved"):
        StateFields(a=int).save(SimpleNamespace(a=value))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (list[int], (1, 2)),
        (list[int], {}),
        (set[int], frozenset({1})),
        (tuple[int, ...], [1]),
        (tuple[int, str], [1, "a"]),
        (Card, ("a", 1)),
        (dict[str, int], [("a", 1)]),
    ],
)
def test_a_container_of_another_type_cannot_be_saved(kind: Any, value: Any) -> None:
    """It would come back as the declared one."""
    with pytest.raises(StateError, match=r"SimpleNamespace\.a, declared as .* cannot be saved"):
        StateFields(a=kind).save(SimpleNamespace(a=value))


@pytest.mark.parametrize("kind", [int | str, list[int | str], int | list[str | None]])
@pytest.mark.parametrize("value", [1.5, [1.5], {}])
def test_an_attribute_of_no_type_of_a_union_cannot_be_saved(kind: Any, value: Any) -> None:
    """The error names the attribute, as for any other type."""
    with pytest.raises(StateError, match=r"SimpleNamespace\.a, declared as .* cannot be saved"):
        StateFields(a=kind).save(SimpleNamespace(a=value))


def test_sets_have_one_order() -> None:
    """Equal sets give equal states, whatever order they were filled in."""
    fields = StateFields(a=set[int])
    one, other = set(range(100)), set(range(99, -1, -1))
    assert fields.save(SimpleNamespace(a=one)) == fields.save(SimpleNamespace(a=other)) == {"a": sorted(one, key=str)}


@pytest.mark.parametrize("kind", [object, list, tuple, complex, bytes, SimpleNamespace, 5, "int", tuple[()]])
def test_an_unknown_type_is_refused_when_it_is_declared(kind: Any) -> None:
    """Not when the first state is taken."""
    with pytest.raises(ArgumentTypeError, match="a state cannot hold"):
        StateFields(a=kind)


def test_a_subclass_adds_fields() -> None:
    """With the operator ``|``; a name that both have is an error."""
    both = StateFields(a=int) | StateFields(b=str)
    assert both.types == {"a": int, "b": str}
    assert repr(both) == "StateFields(a=<class 'int'>, b=<class 'str'>)"
    with pytest.raises(TypeError):
        _ = both | StateFields(a=int)


def test_a_number_of_numpy_is_saved_as_an_int() -> None:
    """JSON holds what the state holds, also inside a list and a union."""
    numpy: Any = pytest.importorskip("numpy")
    fields = StateFields(turn=int, best=int | None, row=list[int])
    three = numpy.int64(3)
    saved = fields.save(SimpleNamespace(turn=three, best=three, row=[three]))
    assert json.loads(json.dumps(saved)) == {"turn": 3, "best": 3, "row": [3]}
