"""One recorded call of a program to its model: :class:`RecordedCall`."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any

from gem.errors import TrajectoryError
from gem_rollout.lineages.sorted_json import sorted_json
from gem_rollout.trajectory.json_values import json_value

__all__ = ["EngineEvidence", "RecordedCall", "token_digest"]

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class EngineEvidence:
    """What the model's engine said of its own of a call, as digests (see :func:`token_digest`).

    It is noted when the answer arrives, beside the ids that are recorded, so that damage to these is found later.
    """

    prompt: str | None = None
    """Of the prompt's ids, as the engine took them; None if it does not say."""
    sampled: str | None = None
    """Of the ids that it sampled; None if it does not say."""


@dataclass(slots=True)
class RecordedCall:
    """A call: what was new in its prompt, and what the model answered.

    The prompt of a call that continues another one is that call's prompt, its answer, and what is new. Messages say it
    for readers; ids say it for trainers, and are exact where ``exact`` is True.
    """

    messages: list[dict[str, Any]]
    """Those after the parent's answer; the whole conversation in the first call of a lineage."""
    answer: dict[str, Any] | None = None
    """The model's message; None if the call failed."""
    parent: int | None = None
    """The index of the call that this one continues."""
    began: str | None = None
    """Why a lineage begins here, in words; None if the call continues another one."""
    tools: list[str] = field(default_factory=list)
    """Names of the tools that were offered."""
    exact: bool = False
    """Whether the prompt's ids are those of the parent's prompt, those sampled for it, and ``added_ids``."""
    added_ids: list[int] | None = None
    """The ids that the prompt adds; the whole prompt's unless ``exact``. None if they are not known."""
    token_ids: list[int] | None = None
    """The sampled ids as the engine reported them, a stop token included."""
    logprobs: list[float] | None = None
    """The natural-log probability of each of ``token_ids``."""
    evidence: EngineEvidence = field(default_factory=EngineEvidence)
    finish_reason: str | None = None
    usage: dict[str, int] | None = None
    model: str | None = None
    version: int | str | None = None
    """The version of the policy's weights that sampled, or began to."""
    version_spans: list[tuple[int | str, int]] | None = None
    """As in :class:`gem.policies.Act`."""
    dialect: str = "chat"
    seconds: float | None = None
    """From the request to the whole answer."""
    turn: int | None = None
    """How many turns the environment had taken when the call began; None if there is no environment."""
    error: str | None = None
    """Why there is no answer."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further data, JSON-serialisable: what the gateway left out, the ids of the program's own session."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict without what is empty.

        Raises:
            TrajectoryError: if JSON cannot hold a value.
        """
        record: dict[str, Any] = {}
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None and value != [] and value != {} and value is not False:
                record[name] = value
        evidence = {name: getattr(self.evidence, name) for name in ("prompt", "sampled")}
        if any(evidence.values()):
            record["evidence"] = {name: digest for name, digest in evidence.items() if digest is not None}
        written: dict[str, Any] = json_value(record, "a call")
        for name in ("added_ids", "token_ids", "logprobs"):
            if getattr(self, name) == []:  # none were added or sampled, which is known
                written[name] = []
        return written

    @classmethod
    def from_dict(cls, record: Any) -> RecordedCall:
        """Undo :meth:`to_dict`.

        Raises:
            TrajectoryError: if it is no such record; the message says where.
        """
        if not isinstance(record, dict):
            raise TrajectoryError(f"a call must be an object, got {type(record).__name__}")
        values = {name: value for name, value in record.items() if name != "digest"}
        evidence = values.pop("evidence", {})
        unknown = values.keys() - set(_NAMES)
        if unknown:
            raise TrajectoryError(f"a call has unknown fields: {', '.join(sorted(unknown))}")
        call = cls(values.pop("messages", []), **values, evidence=_evidence(evidence))
        _check(call)
        return call


_NAMES = tuple(item.name for item in fields(RecordedCall) if item.name != "evidence")


def _evidence(record: Any) -> EngineEvidence:
    if not isinstance(record, dict) or not all(isinstance(value, str) for value in record.values()):
        raise TrajectoryError("a call's evidence must be an object of digests")
    try:
        return EngineEvidence(**record)
    except TypeError as error:
        raise TrajectoryError(f"a call's evidence: {error}") from error


def _check(call: RecordedCall) -> None:
    if not _objects(call.messages):
        raise TrajectoryError("a call's messages must be a list of objects")
    if call.answer is not None and not isinstance(call.answer, dict):
        raise TrajectoryError("a call's answer must be an object")
    if not (isinstance(call.tools, list) and all(isinstance(name, str) for name in call.tools)):
        raise TrajectoryError("a call's tools must be a list of names")
    for name in ("parent", "turn"):
        value = getattr(call, name)
        if value is not None and (type(value) is not int or value < 0):
            raise TrajectoryError(f"a call's {name} must be an index, got {value!r:.80}")
    for name in ("added_ids", "token_ids"):
        ids = getattr(call, name)
        if ids is not None and not (isinstance(ids, list) and all(type(one) is int and one >= 0 for one in ids)):
            raise TrajectoryError(f"a call's {name} must be a list of ints from 0")
    values = call.logprobs
    if values is not None and not (isinstance(values, list) and all(type(one) in (int, float) for one in values)):
        raise TrajectoryError("a call's logprobs must be a list of numbers")


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def token_digest(ids: Sequence[int] | Iterable[int]) -> str:
    """Return a digest of token ids: BLAKE2b with 16 bytes over the ids as little-endian words of 32 bits.

    Raises:
        TrajectoryError: if an id does not fit.
    """
    try:
        words = array("I", ids)
    except (TypeError, OverflowError) as error:
        raise TrajectoryError(f"token ids must be ints from 0 below 2**32: {error}") from error
    if sys.byteorder == "big":
        words.byteswap()
    return blake2b(words.tobytes(), digest_size=_DIGEST_BYTES).hexdigest()


def chained_line(before: str, record: dict[str, Any]) -> tuple[str, str]:
    """Return the digest of a record and of all before it, so that none can be changed, lost or moved unseen.

    Returns:
        The digest, and the record with it as JSON on one line.
    """
    text = sorted_json(record)
    digest = blake2b(f"{before}\n{text}".encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return digest, f'{text[:-1]},"digest":"{digest}"}}'
