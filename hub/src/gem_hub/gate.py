"""The static gate, which decides whether a hub accepts a wheel without running any of its code.

:func:`examine` only reads bytes. A wheel that passes is unchanged since its build, installs into its
own folder only, imitates no other name, and offers environments under its own ids. :mod:`gem_hub.conformance`
then checks whether these environments keep the contract.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.ids import parse_id
from gem_hub.admission import closed_namespaces
from gem_hub.archive import ArchiveLimits
from gem_hub.changelog import read_changelog
from gem_hub.contents import check_contents
from gem_hub.entries import check_entry_points, read_environments, read_hub_requires
from gem_hub.errors import HubRefusal
from gem_hub.policy import DECIDABLE, HubPolicy
from gem_hub.public_names import PublicNames
from gem_hub.records import CoreMetadata, Release, environments_of, host_url, now, reasons
from gem_hub.refusal import GateFindings, Refusal
from gem_hub.reserved import OFFICIAL, PACKAGES, PREFIX
from gem_hub.store import Store
from gem_hub.taken_names import TakenNames
from gem_hub.terms import check_terms
from gem_hub.wheel import Wheel, read_wheel

__all__ = ["GateResult", "HubView", "examine"]


@dataclass(frozen=True)
class HubView:
    """The data of the target hub that the gate needs."""

    packages: Collection[str] = ()
    ids: Mapping[str, str] | None = None
    """Environment id without variant → package."""
    official_owners: Collection[str] = ()
    """The owners of the hub's official packages."""
    operators: Collection[str] | None = None
    """The accounts that operate the hub; None if they are unknown, and then official names are not checked."""
    public: PublicNames = field(default_factory=PublicNames)
    """What the hub knows of the names of the public index."""
    known: TakenNames | None = None
    """The packages and ids in the form that answers fast; None to make it of the above."""

    @classmethod
    def of(cls, store: Store, public: PublicNames = PublicNames()) -> HubView:  # noqa: B008  # frozen
        """Return the current view of a hub."""
        known = store.taken()
        owners = {owner for name in OFFICIAL if name in known.packages for owner in store.owners(name)}
        operators = frozenset(store.operators())
        return cls(known.packages, known.ids, frozenset(owners), operators, public, known)

    @cached_property
    def taken(self) -> TakenNames:
        """The packages and ids in the form that answers fast."""
        return self.known or TakenNames(self.packages, self.ids)

    def with_package(self, name: str, ids: Iterable[str]) -> HubView:
        """Return the view with one more package."""
        own = dict.fromkeys(ids, name)
        return replace(self, packages={*self.packages, name}, ids={**(self.ids or {}), **own}, known=None)

    def with_unreleased(self, snapshot: Path) -> HubView:
        """Return the view with unreleased packages: their ids are taken, and their owners are official.

        Args:
            snapshot: a folder with the search side of the hub, which lists unreleased packages too.
        """
        ids, owners = dict(self.ids or {}), {*self.official_owners}
        for path in sorted(snapshot.glob("envs/*.json")):
            page = json.loads(path.read_bytes())
            named = {_base(entry["id"]) for release in page["releases"] for entry in release["environments"]}
            ids = {**dict.fromkeys(named, page["name"]), **ids}
            owners |= {*page["owners"]} if page["name"] in OFFICIAL else set()
        return replace(self, ids=ids, official_owners=frozenset(owners), known=None)


@dataclass(frozen=True)
class GateResult:
    """The gate's result for a wheel."""

    filename: str
    sha256: str
    size: int
    refusals: tuple[Refusal, ...]
    warnings: tuple[Refusal, ...] = ()
    wheel: Wheel | None = None
    """The wheel; None if too little of it is readable."""
    specs: tuple[EnvSpec, ...] = ()
    """The environments of the wheel."""
    hub_requires: tuple[str, ...] = ()
    """The packages that it needs from the same hub."""

    @property
    def passed(self) -> bool:
        return not self.refusals

    def release(
        self, publisher: str, mode: Literal["host", "link"] = "host", url: str = "", published: str | None = None
    ) -> Release:
        """Return the record of a wheel that passed.

        The publisher, time and url come from the caller, everything else from the wheel.

        Raises:
            HubRefusal: if the wheel has not passed, or the publisher or url is invalid.
        """
        if self.wheel is None or not self.passed:
            raise HubRefusal(f"{self.filename}: has not passed the gate")
        changelog_file, changelog = read_changelog(self.wheel)
        try:
            return Release(
                name=self.wheel.name,
                version=self.wheel.version,
                filename=self.filename,
                url=url if mode == "link" else host_url(self.sha256, self.filename),
                sha256=self.sha256,
                size=self.size,
                metadata_sha256=hashlib.sha256(self.wheel.metadata).hexdigest(),
                published=published or now(),
                publisher=publisher,
                mode=mode,
                metadata=CoreMetadata.from_bytes(self.wheel.metadata),
                environments=environments_of(self.specs),
                hub_requires=list(self.hub_requires),
                changelog=changelog,
                changelog_file=changelog_file,
            )
        except GemError:
            raise
        except RecursionError as error:
            raise HubRefusal(f"{self.filename}: is nested too deeply to be recorded") from error
        except ValueError as error:
            raise HubRefusal(f"{self.filename}: {reasons(error)}") from error


def examine(
    filename: str,
    content: bytes,
    publisher: str,
    hub: HubView = HubView(),
    policy: HubPolicy = HubPolicy(),  # noqa: B008
    limits: ArchiveLimits = ArchiveLimits(),  # noqa: B008
) -> GateResult:
    """Return all reasons against a wheel, as far as it is readable.

    Args:
        filename: the file name without a folder.
        content: the bytes of the file.
        publisher: the account that publishes it.
        hub: the view of the hub.
        policy: what the hub's operator has decided.
        limits: the size limits of the wheel.
    """
    findings = GateFindings()
    wheel: Wheel | None = None
    specs: tuple[EnvSpec, ...] = ()
    hub_requires: tuple[str, ...] = ()
    if len(content) > limits.file_bytes:
        most = f"{limits.file_bytes / 2**20:,.0f} MiB are the most"
        message = (
            f"has {len(content) / 2**20:,.1f} MiB, and {most}; let the environment fetch its data when it is needed"
        )
        findings.refuse("file.size", filename, message)
    else:
        try:
            wheel = read_wheel(filename, content, findings, limits)
            if wheel is not None:
                _check_name(wheel.name, publisher, hub, policy, findings)
                check_contents(wheel, hub.packages, findings)
                check_entry_points(wheel, findings)
                check_terms(wheel, findings)
                _check_public(wheel, hub, findings)
                contents = read_environments(wheel, findings)
                specs = tuple(contents.specs)
                hub_requires = read_hub_requires(wheel, hub.packages, findings)
                _check_ids(wheel.name, specs, hub, findings)
                # A prefix claims its namespace as an id does.
                ids = [*(spec.id for spec in specs), *(f"{one.prefix}ADDRESS" for one in contents.resolvers)]
                for env_id, users in closed_namespaces(wheel.name, publisher, ids, policy, _entitled(hub, policy)):
                    message = f"is in a namespace for {users}; choose one of your own"
                    findings.refuse("id.namespace", env_id, message)
        except Exception as error:  # an error in the gate must reject the wheel
            message = f"cannot be examined ({type(error).__name__}); if a build made it as it is, report that"
            findings.refuse("file.unreadable", filename, message)
    verdict = replace(_judged(filename, content, findings, wheel, specs, policy), hub_requires=hub_requires)
    if verdict.passed:
        # A violation of the record's own schema is a reason like any other.
        try:
            verdict.release(publisher)
        except HubRefusal as error:
            return replace(verdict, refusals=(Refusal("record.impossible", "", f"{error}; correct pyproject.toml"),))
    return verdict


def _judged(
    filename: str,
    content: bytes,
    findings: GateFindings,
    wheel: Wheel | None,
    specs: tuple[EnvSpec, ...],
    policy: HubPolicy,
) -> GateResult:
    name = wheel.name if wheel is not None else ""
    accepted = [one for one in findings.refusals if one.code in DECIDABLE and policy.accepts(name, one.code)]
    return GateResult(
        filename,
        hashlib.sha256(content).hexdigest(),
        len(content),
        tuple(one for one in findings.refusals if one not in accepted),
        (*findings.warnings, *(replace(one, message=f"{one.message} (accepted by the policy)") for one in accepted)),
        wheel,
        specs,
    )


def _check_name(name: str, publisher: str, hub: HubView, policy: HubPolicy, findings: GateFindings) -> None:
    if name in PACKAGES:
        findings.refuse("name.reserved", name, f"is {PACKAGES[name]}; choose another name")
    if name in hub.packages:
        return  # the store checks the publisher's rights
    closed = bool(hub.official_owners) or hub.operators is not None
    if (name.startswith(PREFIX) or name in OFFICIAL) and closed and publisher not in _entitled(hub, policy):
        message = f"begins like the official packages, and {publisher!r} owns none of them; leave out {PREFIX!r}"
        findings.refuse("name.reserved-prefix", name, message)
    alike = hub.taken.lookalikes(name) if name not in OFFICIAL else []
    if alike:
        message = f"is hard to tell from {', '.join(alike[:3])}; choose a name that differs by two letters or more"
        findings.refuse("name.similar", name, message)


def _entitled(hub: HubView, policy: HubPolicy) -> set[str]:
    """Return the accounts that may use official names and every namespace."""
    return {*hub.official_owners, *policy.prefix_owners, *(hub.operators or ())}


def _check_public(wheel: Wheel, hub: HubView, findings: GateFindings) -> None:
    if wheel.name in hub.packages or wheel.name in OFFICIAL or wheel.name in PACKAGES:
        return
    objection = hub.public.objection(wheel.name, wheel.archive.sha256)
    if objection:
        findings.refuse("name.public", wheel.name, objection)


def _check_ids(name: str, specs: tuple[EnvSpec, ...], hub: HubView, findings: GateFindings) -> None:
    for env_id, owner, owned in hub.taken.foreign_ids(name, (spec.id for spec in specs)):
        what = "belongs to" if _base(env_id) == owned else f"is a version, or looks like one, of {owned} of"
        findings.refuse("id.taken", env_id, f"{what} the package {owner}; choose another name for it")


def _base(env_id: str) -> str:
    return parse_id(env_id)._replace(variant=None).unowned
