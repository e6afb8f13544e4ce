"""The static gate: whether a hub takes a wheel, found out without running anything of it.

:func:`examine` receives bytes and only reads them. A wheel that passes is unchanged since its build, installs into its
own folder alone, imitates no other name, and offers environments under ids of its own. Whether these environments keep
the contract is the next question: :mod:`gem_hub.conformance`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.ids import parse_id
from gem_hub.archive import ArchiveLimits
from gem_hub.contents import check_contents
from gem_hub.entries import check_entry_points, read_environments
from gem_hub.errors import HubRefusal
from gem_hub.policy import DECIDABLE, HubPolicy
from gem_hub.records import CoreMetadata, Release, environments_of, host_url, now, reasons
from gem_hub.refusal import GateFindings, Refusal
from gem_hub.reserved import OFFICIAL, PACKAGES, PREFIX
from gem_hub.store import Store
from gem_hub.terms import check_terms
from gem_hub.typosquat import lookalikes, ultranormalised
from gem_hub.wheel import Wheel, read_wheel

__all__ = ["GateResult", "HubView", "examine"]


@dataclass(frozen=True)
class HubView:
    """What the gate has to know of the hub that a wheel is for."""

    packages: Collection[str] = ()
    ids: Mapping[str, str] | None = None
    """Environment id without variant → package."""
    official_owners: Collection[str] = ()
    """Who owns the official packages that the hub has."""

    @classmethod
    def of(cls, store: Store) -> HubView:
        """Return what a hub says now."""
        packages = frozenset(store.packages())
        owners = {owner for name in packages & OFFICIAL for owner in store.owners(name)}
        return cls(packages, store.environment_ids(), frozenset(owners))

    def with_unreleased(self, snapshot: Path) -> HubView:
        """Return the same view with what is not released yet: its ids are taken, and its owners are official.

        Args:
            snapshot: a folder with the search side of the hub, which lists unreleased packages too.
        """
        ids, owners = dict(self.ids or {}), {*self.official_owners}
        for path in sorted(snapshot.glob("envs/*.json")):
            page = json.loads(path.read_bytes())
            named = {_base(entry["id"]) for release in page["releases"] for entry in release["environments"]}
            ids = {**dict.fromkeys(named, page["name"]), **ids}
            owners |= {*page["owners"]} if page["name"] in OFFICIAL else set()
        return replace(self, ids=ids, official_owners=frozenset(owners))


@dataclass(frozen=True)
class GateResult:
    """What the gate found out about a wheel."""

    filename: str
    sha256: str
    size: int
    refusals: tuple[Refusal, ...]
    warnings: tuple[Refusal, ...] = ()
    wheel: Wheel | None = None
    """None where too little of it could be read."""
    specs: tuple[EnvSpec, ...] = ()
    """What it offers."""

    @property
    def passed(self) -> bool:
        return not self.refusals

    def release(
        self, publisher: str, mode: Literal["host", "link"] = "host", url: str = "", published: str | None = None
    ) -> Release:
        """Return the record of a wheel that has passed. All of it but who, when and where is read from the wheel.

        Raises:
            HubRefusal: if the wheel has not passed, or publisher or url are impossible.
        """
        if self.wheel is None or not self.passed:
            raise HubRefusal(f"{self.filename}: has not passed the gate")
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
    """Return what there is against a wheel, all reasons at once as far as it can be read.

    Args:
        filename: without folder.
        content: the bytes of the file.
        publisher: who wants to publish it.
        hub: what the hub has.
        policy: what the hub's operator has decided.
        limits: how large the wheel may be.
    """
    findings = GateFindings()
    wheel: Wheel | None = None
    specs: tuple[EnvSpec, ...] = ()
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
                specs = read_environments(wheel, findings)
                _check_ids(wheel.name, specs, hub, findings)
        except Exception as error:  # a gate that fails is shut
            message = f"cannot be examined ({type(error).__name__}); if a build made it as it is, report that"
            findings.refuse("file.unreadable", filename, message)
    verdict = _judged(filename, content, findings, wheel, specs, policy)
    if verdict.passed:
        # Whatever the record's own schema has against the wheel is a reason like any other.
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
        return  # who may publish it is for the store to say
    entitled = {*hub.official_owners, *policy.prefix_owners}
    if name.startswith(PREFIX) and hub.official_owners and publisher not in entitled:
        message = f"begins like the official packages, and {publisher!r} owns none of them; leave out {PREFIX!r}"
        findings.refuse("name.reserved-prefix", name, message)
    alike = lookalikes(name, {*hub.packages, *OFFICIAL, *PACKAGES}) if name not in OFFICIAL else []
    if alike:
        message = f"is hard to tell from {', '.join(alike[:3])}; choose a name that differs by two letters or more"
        findings.refuse("name.similar", name, message)


def _check_ids(name: str, specs: tuple[EnvSpec, ...], hub: HubView, findings: GateFindings) -> None:
    """An id belongs to the package that had it first, with its variants, its later versions and what looks like it."""
    owners: dict[str, tuple[str, str]] = {}
    for env_id, owner in (hub.ids or {}).items():
        if owner != name:
            owners[_family(env_id)] = (owner, env_id)
    for family, spec in {_family(spec.id): spec for spec in reversed(specs)}.items():
        if family in owners:
            owner, env_id = owners[family]
            what = "belongs to" if _base(spec.id) == env_id else f"is a version, or looks like one, of {env_id} of"
            findings.refuse("id.taken", spec.id, f"{what} the package {owner}; choose another name for it")


def _family(env_id: str) -> str:
    parsed = parse_id(env_id)
    return f"{ultranormalised(parsed.namespace)}:{ultranormalised(parsed.name)}"


def _base(env_id: str) -> str:
    return parse_id(env_id)._replace(variant=None).unowned
