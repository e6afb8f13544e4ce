"""The protocol of rewards: :class:`Reward`, and the :class:`Score` that it gives."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gem.arguments import check_names, keyword_names
from gem.entry_points import name_of
from gem.errors import ArgumentError, NotSupportedError

if TYPE_CHECKING:
    from typing_extensions import Self

    from gem_rollout.trajectory import Trajectory

__all__ = ["Reward", "RewardContext", "Score"]


@dataclass(frozen=True)
class Score:
    """What a reward says about an episode.

    A reward is right or says that it could not tell: an *unreadable* score pays 0.0, is counted apart by evaluations,
    and can be masked in training.

    Raises:
        ArgumentError: if the value or a part is not a finite number.
    """

    value: float
    parts: dict[str, float] = field(default_factory=dict)
    """Named components of the value."""
    reasons: list[str] = field(default_factory=list)
    """Why, a sentence each."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further data, JSON-serialisable. ``grade`` is ``"unreadable"`` where the reward could not tell, and
    ``unreadable`` then has a word for the reason, for tables."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _finite("the value of a score", self.value))
        object.__setattr__(self, "parts", {str(k): _finite(f"the part {k!r}", v) for k, v in self.parts.items()})

    @classmethod
    def unreadable(cls, reason: str, kind: str = "unreadable", **metadata: Any) -> Score:
        """Return the score of a reward that could not tell.

        Args:
            reason: a sentence.
            kind: a word for tables: ``exception``, ``no_answer_known``, ``malformed``, ``timeout`` …
            **metadata: further data.
        """
        return cls(0.0, reasons=[reason], metadata={**metadata, "grade": "unreadable", "unreadable": kind})

    @property
    def readable(self) -> bool:
        """Whether the reward could tell."""
        return self.metadata.get("grade") != "unreadable"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "value": self.value,
            "parts": dict(self.parts),
            "reasons": list(self.reasons),
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Score:
        """Undo :meth:`to_dict`.

        Raises:
            ArgumentError: if ``record`` is not such a dict.
        """
        try:
            return cls(
                record["value"],
                dict(record.get("parts", {})),
                [str(reason) for reason in record.get("reasons", [])],
                dict(record.get("metadata", {})),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"not a score: {error!r}") from error


@dataclass(frozen=True)
class RewardContext:
    """What a run gives to its rewards before they score."""

    folder: Path | None = None
    """The run folder, where a reward may keep records of its own; None outside a run."""
    judge: Mapping[str, Any] = field(default_factory=dict)
    """The judge for rewards that name none: ``model``, ``base_url`` and other arguments of a judge."""
    anew: bool = False
    """Whether to leave aside what the rewards recorded in this folder before."""


class Reward:
    """Scores an episode.

    A subclass implements :meth:`score`, and :meth:`per_turn` if it can reward turns as well; each as a plain or as an
    async method. Its constructor takes keyword arguments, JSON values or other rewards, so that :attr:`config` records
    exactly which reward scored. It must not change the trajectory.
    """

    name: str = ""
    """The name by which :func:`gem_questions.rewards.make_reward` makes it."""
    label: str = ""
    """The name of its scores in a record, where it is not :attr:`name`; see :attr:`recorded_as`."""
    weight: float = 1.0
    """Its weight in a composite, and the factor with which an environment pays it."""
    private: ClassVar[frozenset[str]] = frozenset()
    """Arguments that :attr:`config` leaves out because they may hold secrets."""

    _arguments: Mapping[str, Any]

    def __new__(cls, **arguments: Any) -> Self:
        """Refuse unknown arguments with the nearest name, and remember the known ones for :attr:`config`."""
        constructor = getattr(cls, "__init__")  # noqa: B009  # mypy distrusts cls.__init__
        known = () if constructor is object.__init__ else keyword_names(constructor)
        if known is not None:
            check_names(cls.__name__, arguments, known)
        self = super().__new__(cls)
        self._arguments = arguments
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled as its arguments: what it holds (locks, connections, environments) belongs to one process.
        names = ("name", "label", "weight")
        return _rebuilt, (type(self), dict(self._arguments), {name: getattr(self, name) for name in names})

    def score(self, trajectory: Trajectory) -> Score | Awaitable[Score]:
        """Return the score of a finished episode."""
        raise NotSupportedError(f"{type(self).__name__} does not implement score")

    def per_turn(self, trajectory: Trajectory, start: int = 0) -> list[float] | Awaitable[list[float] | None] | None:
        """Return one reward for each turn from ``start`` on, of an episode that may still run.

        None, as here, from a reward that only scores whole episodes.
        """
        return None

    def begin(self, context: RewardContext) -> None:
        """Take what a run has for its rewards; called once before the first score of a run.

        Raises:
            ArgumentError: if something is missing without which no episode can be scored.
        """

    def close(self) -> Awaitable[None] | None:
        """Release what the reward holds. A later score opens it again."""
        return None

    @property
    def recorded_as(self) -> str:
        """The name of its scores in a record: its label, else its name, else that of its class."""
        return self.label or self.name or type(self).__name__

    @property
    def asynchronous(self) -> bool:
        """Whether :meth:`score` must be awaited."""
        return inspect.iscoroutinefunction(self.score)

    @property
    def rewards_turns(self) -> bool:
        """Whether the reward implements :meth:`per_turn`."""
        return type(self).per_turn is not Reward.per_turn

    @property
    def config(self) -> dict[str, Any]:
        """Name and arguments as JSON values; :func:`gem_questions.rewards.make_reward` makes an equal reward of them.

        An argument that JSON cannot hold is described by its ``repr``.
        """
        made_by = self.name or f"{type(self).__module__}:{type(self).__qualname__}"
        config: dict[str, Any] = {"name": made_by}
        if self.label and self.label != made_by:
            config["label"] = self.label
        if self.weight != 1.0:
            config["weight"] = self.weight
        given = {name: value for name, value in self._arguments.items() if name not in self.private}
        return {**config, **{name: _as_json(value) for name, value in given.items()}}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r:.60}" for name, value in self.config.items() if name != "name")
        return f"{type(self).__name__}({arguments})"


def _rebuilt(cls: type[Reward], arguments: Mapping[str, Any], attributes: Mapping[str, Any]) -> Reward:
    reward = cls(**arguments)
    for name, value in attributes.items():
        setattr(reward, name, value)
    return reward


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} must be a number, got {value!r:.80}") from None
    if not math.isfinite(number):
        raise ArgumentError(f"{name} must be finite, got {number!r}")
    return number


def _as_json(value: Any) -> Any:
    if isinstance(value, Reward):
        return value.config
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if callable(value):
        return name_of(value)
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return {"repr": repr(value)}
