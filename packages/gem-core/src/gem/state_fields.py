"""Attributes as JSON values and back, by their declared types: :class:`StateFields`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from gem.arguments import boolean, choice, integer, real
from gem.errors import ArgumentError, ArgumentTypeError, StateError

__all__ = ["StateFields"]


class StateFields:
    """The names of attributes that make up a state, and the type of each::

        StateFields(stones=int, digs=dict[tuple[int, int], int], last=str | None)

    A type is ``bool``, ``int``, ``float``, ``str``, ``None``, a ``Literal``, an ``Enum`` with JSON values, a
    ``NamedTuple``, a ``list``, ``tuple``, ``set``, ``frozenset`` or ``dict`` of such types, a union of such types,
    or ``Any``, which stands for JSON values. JSON holds a set as a sorted list, and a dict whose keys are not str as a
    list of pairs.

    ``fields | more`` holds the fields of both, for a subclass that adds some.

    Raises:
        ArgumentTypeError: if a type is none of these.
    """

    def __init__(self, **types: Any) -> None:
        self.types = types
        self._codecs = {name: _codec_of(kind) for name, kind in types.items()}

    def __or__(self, other: StateFields) -> StateFields:
        return StateFields(**self.types, **other.types)

    def __repr__(self) -> str:
        return f"StateFields({', '.join(f'{name}={kind!r}' for name, kind in self.types.items())})"

    def save(self, owner: object) -> dict[str, Any]:
        """Return the attributes of ``owner`` as JSON values that share nothing with it.

        Raises:
            StateError: if an attribute is missing or has another type than declared.
        """
        episode = {}
        for name, codec in self._codecs.items():
            try:
                episode[name] = codec.encode(getattr(owner, name))
                codec.decode(episode[name])
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                declared = f"{type(owner).__name__}.{name}, declared as {self.types[name]!r}"
                raise StateError(f"{declared}, cannot be saved: {error}") from error
        return episode

    def load(self, owner: object, episode: Mapping[str, Any]) -> None:
        """Undo :meth:`save`: assign new values to the attributes of ``owner``, or none if one does not fit.

        Raises:
            ArgumentError, ArgumentTypeError: if ``episode`` has other names or a value of another type.
        """
        if not isinstance(episode, Mapping) or episode.keys() != self._codecs.keys():
            raise ArgumentError(f"an episode has the fields {', '.join(self._codecs) or 'of an empty dict'}")
        values = {name: _decoded(name, codec, episode[name]) for name, codec in self._codecs.items()}
        for name, value in values.items():
            setattr(owner, name, value)


class _Codec(NamedTuple):
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    """Returns a new value, or raises ArgumentError or ArgumentTypeError."""


def _decoded(name: str, codec: _Codec, value: Any) -> Any:
    try:
        return codec.decode(value)
    except (ArgumentError, ArgumentTypeError) as error:
        raise ArgumentError(f"{name}: {error}") from error


def _same(value: Any) -> Any:
    return value


def _require(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ArgumentTypeError(f"must be a {kind.__name__}, got {type(value).__name__}")
    return value


def _nothing(value: object) -> None:
    if value is not None:
        raise ArgumentTypeError(f"must be None, got {type(value).__name__}")


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


_PLAIN = {
    bool: _Codec(_same, lambda value: boolean("it", value)),
    int: _Codec(lambda value: integer("it", value), lambda value: integer("it", value)),
    float: _Codec(_same, lambda value: real("it", value)),
    str: _Codec(_same, lambda value: _require(str, value)),
    NoneType: _Codec(_same, _nothing),
    None: _Codec(_same, _nothing),
    Any: _Codec(_copied, _copied),
}


def _codec_of(kind: Any) -> _Codec:
    if isinstance(kind, (type, NoneType)) or kind is Any:
        plain = _PLAIN.get(kind)
        if plain is not None:
            return plain
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _Codec(_same, lambda value: choice("it", value, args))
    if origin in (Union, UnionType):
        return _union(args)
    if origin in (list, set, frozenset) and args:
        return _collection(origin, _codec_of(args[0]))
    if origin is tuple and args:
        if len(args) == 2 and args[1] is ...:
            return _collection(tuple, _codec_of(args[0]))
        return _tuple(tuple, tuple, [_codec_of(arg) for arg in args])
    if origin is dict:
        return _dict(args[0], _codec_of(args[0]), _codec_of(args[1]))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _Codec(lambda member: member.value, lambda value: kind(choice("it", value, [one.value for one in kind])))
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_make"):
        hints = get_type_hints(kind)
        return _tuple(kind, kind._make, [_codec_of(hints[name]) for name in kind._fields])  # type: ignore[attr-defined]
    raise ArgumentTypeError(f"a state cannot hold {kind!r}; see gem.state_fields.StateFields for the types it can")


def _union(kinds: tuple[Any, ...]) -> _Codec:
    members = [_codec_of(kind) for kind in kinds]

    def encode(value: Any) -> Any:
        for encoded, decoded in fitting(value):
            if decoded == value:
                return encoded
        raise no_member(value)

    def fitting(value: Any) -> Any:
        for member in members:
            try:
                encoded = member.encode(value)
                yield encoded, member.decode(encoded)
            except (ArgumentError, ArgumentTypeError, AttributeError, TypeError, ValueError):
                continue

    def decode(value: Any) -> Any:
        for member in members:
            try:
                return member.decode(value)
            except (ArgumentError, ArgumentTypeError):
                continue
        raise no_member(value)

    def no_member(value: Any) -> ArgumentTypeError:
        return ArgumentTypeError(f"must be one of {kinds}, got {type(value).__name__}")

    return _Codec(encode, decode)


def _collection(kind: type, item: _Codec) -> _Codec:
    def encode(values: Any) -> list[Any]:
        encoded = [item.encode(value) for value in _require(kind, values)]
        # The order of a set follows from hashes, which differ between processes.
        return sorted(encoded, key=json.dumps) if isinstance(values, (set, frozenset)) else encoded

    return _Codec(encode, lambda values: kind([item.decode(value) for value in _require(list, values)]))


def _tuple(kind: type, make: Callable[[list[Any]], Any], items: list[_Codec]) -> _Codec:
    def encode(values: Any) -> list[Any]:
        return [item.encode(value) for item, value in zip(items, _require(kind, values), strict=True)]

    def decode(values: Any) -> Any:
        if len(_require(list, values)) != len(items):
            raise ArgumentError(f"must be a list of {len(items)} values, got {len(values)}")
        return make([item.decode(value) for item, value in zip(items, values, strict=True)])

    return _Codec(encode, decode)


def _dict(key_kind: Any, key: _Codec, value: _Codec) -> _Codec:
    def encode_pairs(mapping: dict[Any, Any]) -> list[list[Any]]:
        return [[key.encode(k), value.encode(v)] for k, v in mapping.items()]

    pair = _tuple(tuple, tuple, [key, value])
    if key_kind is not str:
        return _Codec(encode_pairs, lambda pairs: dict(pair.decode(p) for p in _require(list, pairs)))

    def decode(mapping: Any) -> dict[str, Any]:
        return {_require(str, k): value.decode(v) for k, v in _require(dict, mapping).items()}

    return _Codec(lambda mapping: {k: value.encode(v) for k, v in mapping.items()}, decode)
