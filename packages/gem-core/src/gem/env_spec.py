"""The origin of an environment: :class:`EnvSpec`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from gem.entry_points import name_of, source_digest
from gem.errors import ArgumentError

__all__ = ["EnvSpec", "WrapperSpec"]


@dataclass(frozen=True)
class WrapperSpec:
    """A wrapper that was applied: its class as ``"module:Class"`` and its arguments after the environment."""

    entry_point: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EnvSpec:
    """Everything needed to make an environment again, and to identify it exactly.

    It survives a round trip through JSON (:meth:`to_json`, :meth:`from_json`), so recorded trajectories and workers in
    other processes can carry it. ``gem.make(spec)`` builds from it without any discovery.
    """

    id: str
    entry_point: str | Callable[..., Any]
    """``"module:Class"``, or the callable itself if it was registered without such a name."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    tags: tuple[str, ...] = ()
    turns: str = "multi"
    """``"single"`` or ``"multi"``."""
    modality: tuple[str, ...] = ("text",)
    reward_range: tuple[float, float] | None = None
    """Closed range of the return of a whole episode; None if not declared."""
    requires: tuple[str, ...] = ()
    reference_policy: str | None = None
    reference_sees: str = "observation"
    """``"observation"``, or ``"state"`` for an oracle that reads the answer."""
    reference_return: float | None = None
    """Mean return that the reference policy reaches; the upper end of ``reward_range`` unless declared."""
    null_return: float | None = None
    """Return of an agent whose actions are empty; the lower end of ``reward_range`` unless declared."""
    thoughtless_share: float | None = None
    """The share of the highest reward that no rule without thought reaches, where an episode is one turn: no constant
    answer, no copy of the question; see ``gem.thoughtless`` for the default."""
    step_seconds: float | None = None
    """Wall-clock seconds that no step exceeds; see :mod:`gem_testing.clauses.speed` for the default."""
    reset_seconds: float | None = None
    """The same for ``reset``."""
    exempt: Mapping[str, str] = field(default_factory=dict)
    """Clauses of the conformance kit that the environment declares it does not keep, each with its reason."""
    distribution: str | None = None
    version: str | None = None
    wrappers: tuple[WrapperSpec, ...] = ()
    recorded_digest: str | None = field(default=None, compare=False)
    """The source digest that a record carried; see :attr:`source_digest`."""

    @property
    def source_digest(self) -> str | None:
        """SHA-256 over the files of the package that contains the environment's code.

        For a spec from a record it is the digest at recording time, so that a result names the code that
        produced it. None where there are no files (a class typed at a prompt).
        """
        return self.recorded_digest or source_digest(self.entry_point)

    @property
    def namespace(self) -> str:
        """The part of the id before the colon; empty for a plain name, which only ``gem.register`` takes."""
        namespace, colon, _ = self.id.partition(":")
        return namespace.rpartition("/")[2] if colon else ""

    def with_kwargs(self, kwargs: Mapping[str, Any]) -> EnvSpec:
        """Return this spec with constructor arguments added or overridden."""
        return replace(self, kwargs={**self.kwargs, **kwargs}) if kwargs else self

    def with_wrapper(self, cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> EnvSpec:
        """Return this spec with one more wrapper on the outside."""
        applied = WrapperSpec(f"{cls.__module__}:{cls.__qualname__}", args, dict(kwargs))
        return replace(self, wrappers=(*self.wrappers, applied))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, the source digest included.

        Wrapper arguments that JSON cannot hold (a tokenizer, a function) are described by their ``repr``.

        Raises:
            ArgumentError: if a constructor argument would change on its way through JSON (a tuple, a key that is
                not a str, an object); a record could not make such an environment again.
        """
        # Not asdict, which deep-copies: a wrapper's tokenizer or function may be large, or refuse that.
        record = {item.name: getattr(self, item.name) for item in fields(self)}
        record["entry_point"] = name_of(self.entry_point)
        record["exempt"] = dict(self.exempt)
        record["recorded_digest"] = self.source_digest
        try:
            record["kwargs"] = json.loads(json.dumps(dict(self.kwargs), allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(f"{self.id}: a constructor argument cannot be written as JSON: {error}") from error
        for name, value in self.kwargs.items():
            if record["kwargs"].get(name) != value:
                raise ArgumentError(
                    f"{self.id}: the argument {name!r} is {value!r}, and would come back from JSON as "
                    f"{record['kwargs'].get(name)!r}; use lists, and dicts whose keys are strings"
                )
        record["wrappers"] = [
            {
                "entry_point": w.entry_point,
                "args": [_jsonable(a) for a in w.args],
                "kwargs": {n: _jsonable(v) for n, v in w.kwargs.items()},
            }
            for w in self.wrappers
        ]
        for name in ("tags", "modality", "requires", "reward_range"):
            record[name] = None if record[name] is None else list(record[name])
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> EnvSpec:
        """Undo :meth:`to_dict`.

        Raises:
            ArgumentError: if ``record`` is not such a dict; unknown keys are refused.
        """
        known = {item.name for item in fields(cls)}
        unknown = sorted(set(record) - known)
        if unknown or not isinstance(record.get("id"), str) or not isinstance(record.get("entry_point"), str):
            what = f"unknown keys {unknown}" if unknown else "'id' and 'entry_point' must be strings"
            raise ArgumentError(f"not an environment spec: {what}")
        values = dict(record)
        try:
            values["kwargs"] = dict(values.get("kwargs", {}))
            for name in ("tags", "modality", "requires", "reward_range"):
                if values.get(name) is not None:
                    values[name] = tuple(values[name])
            values["wrappers"] = tuple(
                WrapperSpec(w["entry_point"], tuple(w["args"]), dict(w["kwargs"])) for w in values.get("wrappers", ())
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"not an environment spec: {error!r}") from error
        return cls(**values)

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> EnvSpec:
        """Undo :meth:`to_json`; raises ``ArgumentError`` for anything else."""
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"not an environment spec: {error}") from error
        if not isinstance(record, dict):
            raise ArgumentError("not an environment spec: a JSON object is needed")
        return cls.from_dict(record)


def _jsonable(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return {"repr": repr(value)}
