"""What a result says, and the one reader of it: every value has its type, its bounds and its place, or it is refused.

A result is the predicate of an in-toto statement over the wheel of the environment's package. Its payload is JSON with
sorted keys and no blanks, so that equal results are equal bytes; a text that says the same in other bytes is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from time import strptime
from typing import Any

from gem_hub_client.errors import HubError
from gem_hub_client.ids import is_id, parse_id
from gem_hub_client.names import is_name
from gem_hub_client.sanitize import sanitize
from gem_hub_client.trust.statements import STATEMENT

__all__ = [
    "COLUMNS",
    "MOST_EPISODES",
    "OUTCOMES",
    "PAYLOAD_LIMIT",
    "PREDICATE",
    "SCRIPTED_AGENTS",
    "SCRIPTED_HARNESS",
    "ResultEpisode",
    "ResultError",
    "ResultRecord",
    "payload_of",
    "read_payload",
    "result_id",
]

PREDICATE = "urn:gem:result:v1"

PAYLOAD_LIMIT = 1_000_000
"""Bytes of a payload; an episode has some 130."""
MOST_EPISODES = 5_000

COLUMNS = (
    "seed",
    "repetition",
    "outcome",
    "return",
    "turns",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "failure",
    "sha256",
)
"""The values of an episode, in the order in which a payload lists them."""

OUTCOMES = ("succeeded", "unsuccessful", "incomplete", "unknown", "untold")
"""What may become of an episode: ``gem_rollout.trajectory.OUTCOMES``, as a test of the workspace proves."""

HISTORIES = frozenset(
    {
        *("concat", "concat_with_action", "concat_chat", "concat_chat_on_reset", "messages"),
        *("sliding_window", "summarize", "token_budget", "record", "episode_tracking"),
    }
)
"""Wrappers that change only which earlier turns an observation shows, or that only note what happens."""

SCRIPTED_AGENTS = ("reference", "random", "null")
"""The agents that can be played anew from their names."""
SCRIPTED_HARNESS = "scripted"
"""The harness of an agent without a model."""

_MOST_NUMBER = 2.0**63
_MOST_RETURN = 1e9
_MOST_TOKENS = 10**12
_MOST_COST = 1e9
_DEEPEST = 8
_LARGEST_SETTINGS = 8_000
"""Bytes of the arguments of an environment, of its wrappers, of limits and of sampling, each."""


class ResultError(HubError):
    """A result is not what it must be; the message says where and why."""


@dataclass(frozen=True)
class ResultEpisode:
    """One episode of a result."""

    seed: int
    repetition: int
    outcome: str
    """One of :data:`OUTCOMES`, settled among the episodes of the result."""
    episode_return: float
    """The undiscounted sum of the environment's rewards."""
    turns: int
    prompt_tokens: int | None
    """Sum over the turns; None where the model's server reported none. The same holds for the next two."""
    completion_tokens: int | None
    cost: float | None
    """In the currency of the run's prices."""
    failure: str | None
    """``SOURCE:KIND`` of what failed; None if nothing did."""
    sha256: str
    """Of the episode's line in ``episodes.jsonl``, its newline included."""


@dataclass(frozen=True)
class ResultRecord:
    """A result: who played what, and what came of each episode."""

    package: str
    version: str
    filename: str
    """Of the wheel; empty for a package without a release."""
    wheel: str
    """SHA-256 of the wheel; empty for a package without a release, which ``code`` identifies alone."""
    code: str
    """SHA-256 over the files of the package that holds the environment (``gem.entry_points.source_digest``)."""
    environment: str
    """The id, without an owner."""
    kwargs: Mapping[str, Any]
    """The constructor's arguments that the run set, beside those of the id."""
    wrappers: Sequence[Any]
    """Names, or objects with ``name`` and arguments, from the inside out."""
    limits: Mapping[str, Any]
    """Of each episode: turns, tokens, seconds."""
    publisher: str
    """The account that publishes and signs it."""
    key: str
    """The publisher's public Ed25519 key, in hex."""
    created: str
    """When the run began, in UTC."""
    agent: str
    """``reference``, ``random``, ``null``, ``module:Class`` or ``model``."""
    model: str
    """The model's name; empty for a scripted agent."""
    harness: str
    """What ran the agent: ``gem-eval`` for the loop of gem-eval itself, ``scripted`` for an agent without a model."""
    sampling: Mapping[str, Any]
    prompt: str
    """SHA-256 of the system message; empty without one."""
    software: Mapping[str, str]
    """Distribution → version."""
    seed: int
    """The first seed."""
    group: int
    """Episodes of each seed."""
    planned: int
    """Episodes of the run; all of them are listed, the failed ones too."""
    episodes: tuple[ResultEpisode, ...]
    summary: Mapping[str, Any]
    """What gem-eval reckons from the episodes; whoever reads a result reckons it again."""
    raw_sha256: str
    """Of the lines of all episodes, in their order here."""
    raw_size: int
    """Bytes of these lines."""
    raw_url: str
    """Where they lie outside the hub; empty if nowhere."""

    @property
    def label(self) -> str:
        """The agent as tables name it: the model, or the scripted agent."""
        return self.model or self.agent

    @property
    def setting(self) -> str:
        """A key of what must be equal so that two results can be compared: wheel, environment, seeds."""
        same = (self.wheel or self.code, self.environment, self.kwargs, self.changing_wrappers, self.limits)
        return _compact([*same, self.seed, self.group, self.planned]).decode()

    @property
    def changing_wrappers(self) -> list[Any]:
        """The wrappers that may change what an episode is or pays; those of :data:`HISTORIES` do not."""
        return [item for item in self.wrappers if not _shows(item)]


def _shows(wrapper: Any) -> bool:
    """Return whether a wrapper only changes what an agent is shown of earlier turns, which is the agent's affair."""
    return (wrapper if isinstance(wrapper, str) else wrapper.get("name")) in HISTORIES


def result_id(payload: bytes) -> str:
    """Return the name of a result: the first 16 hex digits of its payload's SHA-256."""
    return sha256(payload).hexdigest()[:16]


def payload_of(record: ResultRecord) -> bytes:
    """Return the one payload of a result; :func:`read_payload` reads it.

    Raises:
        ResultError: if a value is not what it must be.
    """
    predicate = {name: getattr(record, name) for name in _FIELDS}
    predicate["episodes"] = [list(vars(episode).values()) for episode in record.episodes]
    try:
        payload = _compact(_statement(predicate, record.filename, record.wheel))
    except (ValueError, TypeError, RecursionError) as error:
        raise ResultError(f"the result cannot be written as JSON: {error}") from error
    read_payload(payload)
    return payload


def read_payload(payload: bytes) -> ResultRecord:
    """Return the result of a payload.

    Raises:
        ResultError: if anything is missing, unknown, out of bounds or contradicts the rest; the message names it.
    """
    if len(payload) > PAYLOAD_LIMIT:
        raise ResultError(f"the result has {len(payload):,} bytes; at most {PAYLOAD_LIMIT:,} are allowed")
    try:
        document = json.loads(payload, parse_constant=_no_number)
        predicate = document["predicate"]
        expected = _statement(predicate, predicate["filename"], predicate["wheel"])
        canonical = _compact(document)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultError(f"this is no result: {sanitize(str(error))[:200] or type(error).__name__}") from None
    if document != expected:
        raise ResultError("this is no result: its type or its subject is another one")
    if canonical != payload:
        raise ResultError("the result is not written in the one form that results have: sorted keys, no blanks")
    return _checked(predicate)


def _checked(predicate: Mapping[str, Any]) -> ResultRecord:
    wrong = sorted(predicate.keys() ^ _FIELDS.keys())
    if wrong:
        what = "is missing" if wrong[0] in _FIELDS else "is unknown"
        raise ResultError(f"{sanitize(wrong[0])[:40]!r} {what} in the result")
    for name, check in _FIELDS.items():
        _apply(check, predicate[name], name)
    episodes = tuple(_episode(number, row) for number, row in enumerate(predicate["episodes"]))
    record = ResultRecord(**{**predicate, "episodes": episodes})
    _check_plan(record)
    if bool(record.model) != (record.agent == "model"):
        raise ResultError(f"the agent is {record.agent!r} and the model {record.model!r}: a model's agent is 'model'")
    _check_names(record)
    if bool(record.wheel) != bool(record.filename):
        raise ResultError("a wheel has a file name and a digest, and a package without a release neither")
    return record


def _check_names(record: ResultRecord) -> None:
    """Refuse what a table would show as an agent that it is not: the scripted ones measure all others."""
    name, is_scripted = record.label, record.harness.casefold() == SCRIPTED_HARNESS
    if record.model and is_scripted:
        raise ResultError(
            f"the harness of the model {name!r} is {record.harness!r}, which stands for agents without one"
        )
    if name.casefold() in SCRIPTED_AGENTS and (name not in SCRIPTED_AGENTS or record.model or not is_scripted):
        raise ResultError(
            f"only the {name.casefold()} policy itself, without a model and with harness {SCRIPTED_HARNESS!r}, is "
            f"called so; name the {'model' if record.model else 'agent'} {name!r} otherwise"
        )


def _episode(number: int, row: Any) -> ResultEpisode:
    where = f"episode {number + 1}"
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise ResultError(f"{where} must have the {len(COLUMNS)} values {', '.join(COLUMNS)}")
    for (name, check), value in zip(_EPISODE.items(), row, strict=True):
        _apply(check, value, f"{where}: {name}")
    episode = ResultEpisode(*row)
    source = (episode.failure or "agent:").partition(":")[0]
    if source != "agent" and episode.outcome != "unknown":
        raise ResultError(f"{where}: {source} failed, so its outcome is unknown, not {episode.outcome!r}")
    if episode.failure is not None and source == "agent" and episode.outcome in ("succeeded", "unsuccessful"):
        raise ResultError(f"{where}: the agent failed, so its outcome is not {episode.outcome!r}")
    return episode


def _check_plan(record: ResultRecord) -> None:
    """Check that the episodes are exactly those of the plan, each once and in order."""
    if record.planned % record.group:
        raise ResultError(f"{record.planned} episodes are no multiple of {record.group} for each seed")
    planned = [(record.seed + number // record.group, number % record.group) for number in range(record.planned)]
    found = [(episode.seed, episode.repetition) for episode in record.episodes]
    if found != planned:
        missing, extra = sorted({*planned} - {*found}), sorted({*found} - {*planned})
        what = "are listed twice or out of order"
        if missing or extra:
            seed, repetition = (missing or extra)[0]
            kind = "missing" if missing else "not planned"
            what = f"differ from the plan: seed {seed}, repetition {repetition} is {kind}"
        raise ResultError(f"the {len(found)} episodes {what}; a result lists all {record.planned} planned ones")
    digests = [episode.sha256 for episode in record.episodes]
    if len({*digests}) != len(digests):
        raise ResultError("two episodes have one digest; each was played once")


def _statement(predicate: Any, filename: Any, wheel: Any) -> dict[str, Any]:
    digest = {"sha256": wheel} if wheel else {"gemSource": predicate["code"]}
    name = filename or predicate["package"]
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": digest}],
        "predicateType": PREDICATE,
        "predicate": predicate,
    }


def _compact(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


Check = Callable[[Any], str]
"""Returns what a value must be, if it is not; else an empty text."""


def _apply(check: Check, value: Any, where: str) -> None:
    wanted = check(value)
    if wanted:
        raise ResultError(f"{where} must be {wanted}, not {sanitize(repr(value))[:80]}")


def _text(value: Any, pattern: str, most: int, wanted: str, *, empty: bool = False) -> str:
    if isinstance(value, str) and ((empty and not value) or (len(value) <= most and re.fullmatch(pattern, value))):
        return ""
    return f"{wanted} of at most {most} characters{' or empty' if empty else ''}"


def _whole(value: Any, low: int, high: int, *, or_none: bool = False) -> str:
    if (or_none and value is None) or (type(value) is int and low <= value <= high):
        return ""
    return f"a whole number from {low} to {high}{' or null' if or_none else ''}"


def _real(value: Any, low: float, high: float, *, or_none: bool = False) -> str:
    if or_none and value is None:
        return ""
    if type(value) in (int, float) and low <= value <= high:  # NaN is in no range
        return ""
    return f"a number from {low:g} to {high:g}{' or null' if or_none else ''}"


def _moment(value: Any) -> str:
    try:
        strptime(value, "%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError):
        return "a time such as 2026-01-31T23:59:59Z, in UTC"
    return "" if len(value) == 20 else "a time of 20 characters"


def _json(value: Any, kind: type) -> str:
    """Check a free JSON value: not large, not deep, all its numbers finite and its texts visible."""
    try:
        fits = isinstance(value, kind) and len(_compact(value)) <= _LARGEST_SETTINGS and _is_plain(value, _DEEPEST)
    except (ValueError, TypeError, RecursionError):
        fits = False
    return "" if fits else f"plain JSON of at most {_LARGEST_SETTINGS} bytes and {_DEEPEST} levels"


def _is_plain(value: Any, levels: int) -> bool:
    if isinstance(value, Mapping):
        return levels > 0 and all(_is_plain(key, 1) and _is_plain(inner, levels - 1) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return levels > 0 and all(_is_plain(inner, levels - 1) for inner in value)
    if isinstance(value, str):
        return sanitize(value.replace("\n", " ")) == value.replace("\n", " ") and not set(value) & set("<>")
    return value is None or not _real(value, -_MOST_NUMBER, _MOST_NUMBER) or isinstance(value, bool)


def _wrappers(value: Any) -> str:
    """Check wrappers: by name alone, because an address would load code of the result's choice when it is checked."""
    wanted = _json(value, list)
    names = [item.get("name") if isinstance(item, Mapping) else item for item in value] if not wanted else []
    named = all(isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_-]{0,60}", name) for name in names)
    return wanted or ("" if named else "names of wrappers, or objects with a name")


def _versions(value: Any) -> str:
    plain = isinstance(value, Mapping) and len(value) <= 60
    fits = plain and all(is_name(name) and not _VERSION(version) for name, version in value.items())
    return "" if fits else "names of distributions with their versions, at most 60"


def _rows(value: Any) -> str:
    return "" if isinstance(value, list) and 0 < len(value) <= MOST_EPISODES else f"1 to {MOST_EPISODES} episodes"


def _id(value: Any) -> str:
    fits = is_id(value) and len(value) <= 200 and parse_id(value).owner is None
    return "" if fits else "the id of an environment, without an owner"


def _address(value: Any) -> str:
    return _text(value, r"https://[A-Za-z0-9.-]+(:\d+)?/[A-Za-z0-9._~/%+@,=()-]*", 500, "an https address", empty=True)


_DIGEST = partial(_text, pattern=r"[0-9a-f]{64}", most=64, wanted="a SHA-256 in hex")
_MAYBE_DIGEST = partial(_DIGEST, empty=True)
# Names are shown on pages and in terminals, so they have no character that means something there.
_NAME = partial(_text, pattern=r"[A-Za-z0-9_](?:[A-Za-z0-9_ .:/@+(),=-]*[A-Za-z0-9_)])?", most=120, wanted="a name")
_VERSION = partial(_text, pattern=r"[0-9A-Za-z.!+_-]+", most=64, wanted="a version")
_TOKENS = partial(_whole, low=0, high=_MOST_TOKENS, or_none=True)

_EPISODE: dict[str, Check] = {
    "seed": partial(_whole, low=0, high=2**63),
    "repetition": partial(_whole, low=0, high=MOST_EPISODES),
    "outcome": lambda value: "" if value in OUTCOMES else f"one of {', '.join(OUTCOMES)}",
    "return": partial(_real, low=-_MOST_RETURN, high=_MOST_RETURN),
    "turns": partial(_whole, low=0, high=10**7),
    "prompt_tokens": _TOKENS,
    "completion_tokens": _TOKENS,
    "cost": partial(_real, low=0, high=_MOST_COST, or_none=True),
    "failure": lambda value: (
        "" if value is None else _text(value, r"[a-z]{1,20}:[a-z][a-z0-9_ -]{0,40}", 62, "SOURCE:KIND")
    ),
    "sha256": _DIGEST,
}

_FIELDS: dict[str, Check] = {
    "package": lambda value: "" if is_name(value) else "the normalised name of a package",
    "version": _VERSION,
    "filename": partial(_text, pattern=r"[A-Za-z0-9_.!-]+\.whl", most=250, wanted="the name of a wheel", empty=True),
    "wheel": _MAYBE_DIGEST,
    "code": _DIGEST,
    "environment": _id,
    "kwargs": partial(_json, kind=dict),
    "wrappers": _wrappers,
    "limits": partial(_json, kind=dict),
    "publisher": _NAME,
    "key": partial(_DIGEST, wanted="an Ed25519 key in hex"),
    "created": _moment,
    "agent": _NAME,
    "model": partial(_NAME, empty=True),
    "harness": _NAME,
    "sampling": partial(_json, kind=dict),
    "prompt": _MAYBE_DIGEST,
    "software": _versions,
    "seed": partial(_whole, low=0, high=2**62),
    "group": partial(_whole, low=1, high=MOST_EPISODES),
    "planned": partial(_whole, low=1, high=MOST_EPISODES),
    "episodes": _rows,
    "summary": partial(_json, kind=dict),
    "raw_sha256": _DIGEST,
    "raw_size": partial(_whole, low=1, high=10**12),
    "raw_url": _address,
}
"""Field → its check, for every field of a result."""
