"""Events: all changes of a package after a release. Events are only ever added.

The events, in the order of their serials, applied to the releases give the state of a package; see
:mod:`gem_hub.package`.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    field_validator,
    model_serializer,
)

from gem_hub.attestations.provenance import attestations_in
from gem_hub.records import Digest, PackageName, Person, Strict, Timestamp, VersionText, now
from gem_hub_client.errors import HubError
from gem_hub_client.results.envelope import payload_in
from gem_hub_client.results.record import result_id
from gem_hub_client.sanitize import sanitize
from gem_hub_client.trust.attack_counts import attack_counts

__all__ = [
    "EVENT",
    "Conformance",
    "ConformanceSource",
    "Deprecate",
    "Event",
    "EventBase",
    "Lift",
    "Owner",
    "Provenance",
    "Quarantine",
    "Result",
    "ResultDecision",
    "Undeprecate",
    "Unyank",
    "Yank",
]


def _readable(value: str) -> str:
    if sanitize(value) != value:
        raise ValueError(f"{value[:80]!a} must have visible characters alone, and read from left to right")
    return value


Reason = Annotated[
    str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$"), AfterValidator(_readable)
]
"""One line for users, shown on pages and in messages of pip."""


ConformanceSource = Literal["hub", "author"]
"""Who ran the kit: the hub itself, or the author, whose record is a claim."""


class EventBase(Strict):
    """The fields of all events."""

    format: Literal[1] = 1
    serial: int = Field(default=0, ge=0)
    """The position among all changes of the hub; 0 until the store assigns it."""
    name: PackageName
    created: Timestamp = Field(default_factory=now)
    by: Person
    """The person that requested the event."""
    kind: str

    @property
    def path(self) -> str:
        """The path of the event's file, relative to the hub.

        Before it is numbered, its digest keeps it apart from others of its kind in other pull requests.
        """
        digest = "" if self.serial else f"-{hashlib.sha256(self.to_bytes()).hexdigest()[:12]}"
        return f"events/{self.name}/{self.serial:08d}-{self.kind}{digest}.json"


class Yank(EventBase):
    """Installers must not choose this release, unless a user names exactly its version (PEP 592)."""

    kind: Literal["yank"] = "yank"
    version: VersionText
    reason: Reason


class Unyank(EventBase):
    """A yank was a mistake."""

    kind: Literal["unyank"] = "unyank"
    version: VersionText


class Deprecate(EventBase):
    """The package still works, but users should switch to another one (PEP 792)."""

    kind: Literal["deprecate"] = "deprecate"
    reason: Reason


class Undeprecate(EventBase):
    """The end of a deprecation."""

    kind: Literal["undeprecate"] = "undeprecate"


class Quarantine(EventBase):
    """The package is not safe; the hub offers none of its files until the quarantine is lifted (PEP 792)."""

    kind: Literal["quarantine"] = "quarantine"
    reason: Reason


class Lift(EventBase):
    """A quarantine ends."""

    kind: Literal["release"] = "release"
    reason: Reason


class Owner(EventBase):
    """An account gains or loses the right to publish the package."""

    kind: Literal["owner"] = "owner"
    action: Literal["add", "remove"]
    owner: Person


class _Clause(BaseModel):
    outcome: str
    exempt: bool = False


class _CheckedEnvironment(BaseModel):
    id: str
    clauses: list[_Clause]


class _CheckedPackage(BaseModel):
    environments: list[_CheckedEnvironment]


class _ConformanceSummary(BaseModel):
    """The part of a conformance record that the catalogue summarises.

    Events must stay readable forever, also after the kit's record gets a new schema. The schema of a new record as
    :class:`gem_testing.record.ConformanceRecord` is checked when the record is added.
    """

    model_config = ConfigDict(extra="ignore")

    gem_core: str
    packages: list[_CheckedPackage]


class Conformance(EventBase):
    """A run of the kit on a release."""

    kind: Literal["conformance"] = "conformance"
    version: VersionText
    record: dict[str, JsonValue]
    """The ``gem_testing.record.ConformanceRecord``, as a dict."""
    examples: dict[str, str] = Field(default_factory=dict)
    """Environment id → an observation that a reset returned, for the pages."""
    isolation: Literal["", "jail", "bwrap", "unshare", "none"] = ""
    """The isolation of its code; empty for a record that the author made. See :mod:`gem_hub.sandbox`."""
    sha256: Digest = ""
    """The digest of the wheel that the record was compared with; empty in old events."""
    statement: dict[str, JsonValue] | None = None
    """The hub's signed statement on the run; see :mod:`gem_hub.statements`. The store makes it."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what older events do not have, so that these keep their bytes."""
        values: dict[str, Any] = handler(self)
        if values.get("statement") is None:
            values.pop("statement", None)
        return values

    @property
    def source(self) -> ConformanceSource:
        """``"hub"`` if the hub ran this very wheel; ``"author"`` for what the author says."""
        return "hub" if self.isolation and self.sha256 else "author"

    @field_validator("record")
    @classmethod
    def _can_be_counted(cls, value: dict[str, Any]) -> dict[str, Any]:
        _ConformanceSummary.model_validate(value)
        attack_counts(value)
        return value

    def counts(self) -> dict[str, Any]:
        """Return gem-core's version and the numbers of clauses that hold, are violated and are not tested.

        Declared exemptions are left out. Where the run played attacks, their counts are in ``attacks``.
        """
        attacks = attack_counts(self.record)
        summary = _ConformanceSummary.model_validate(self.record)
        outcomes = [
            clause.outcome
            for package in summary.packages
            for environment in package.environments
            for clause in environment.clauses
            if not clause.exempt
        ]
        return {
            "gem_core": summary.gem_core,
            "holds": outcomes.count("holds"),
            "violated": outcomes.count("violated"),
            "not_tested": outcomes.count("not tested"),
            "source": self.source,
            **({} if attacks is None else {"attacks": attacks}),
        }


class Provenance(EventBase):
    """A release has these attestations; the newest event counts."""

    kind: Literal["provenance"] = "provenance"
    version: VersionText
    sha256: Digest
    """The digest of the wheel that they are about."""
    document: dict[str, JsonValue]
    """The provenance object of PEP 740; its attestations are kept as they were published."""

    @field_validator("document")
    @classmethod
    def _is_readable(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            attestations_in(value)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it is no provenance object of PEP 740: {error!r}") from error
        return value


class Result(EventBase):
    """A result of an agent in an environment of a release, which its publisher has signed.

    What the envelope must hold is checked when it is added, see :mod:`gem_hub.results.admission`. Events must stay
    readable for ever, so that reading one asks for no more than a payload.
    """

    kind: Literal["result"] = "result"
    version: VersionText
    sha256: Digest
    """The digest of the wheel; empty for a package without a release."""
    envelope: dict[str, JsonValue]
    """The signed payload; see :mod:`gem_hub_client.results.envelope`."""
    hosted: bool = False
    """Whether the hub has the lines of its episodes, see :func:`gem_hub.results.state.episodes_path`."""

    @field_validator("envelope")
    @classmethod
    def _has_payload(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            payload_in(value)
        except HubError as error:
            raise ValueError(str(error)) from None
        return value

    @cached_property
    def id(self) -> str:
        """The name of the result: the beginning of its payload's digest."""
        return result_id(payload_in(self.envelope))

    @cached_property
    def predicate(self) -> dict[str, Any]:
        """What the payload says; checked when the result was added."""
        predicate: dict[str, Any] = json.loads(payload_in(self.envelope))["predicate"]
        return predicate

    @cached_property
    def file_sha256(self) -> str:
        """The digest of the event's file, once it has a serial."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


class ResultDecision(EventBase):
    """A result is admitted by an owner of the package, or withdrawn by its publisher, an owner or an operator."""

    kind: Literal["result-decision"] = "result-decision"
    result: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """The :attr:`Result.id`."""
    action: Literal["admit", "withdraw"]
    reason: Reason


AnyEvent = (
    Yank
    | Unyank
    | Deprecate
    | Undeprecate
    | Quarantine
    | Lift
    | Owner
    | Conformance
    | Provenance
    | Result
    | ResultDecision
)
Event = Annotated[AnyEvent, Field(discriminator="kind")]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Validates any event: ``EVENT.validate_json(text, strict=True)``."""
