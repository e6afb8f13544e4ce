"""The rules by which a hub admits a release or an event, given everything that it admitted before.

The store applies them to each change; :func:`admitted_in_order` applies them to changes that were merged into an index
together, each of which was only checked against the index before the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from gem.arguments import nearest
from gem.discovery import official
from gem.ids import parse_id
from gem_hub.attestations.provenance import attestations_in, check_subject
from gem_hub.errors import HubRefusal
from gem_hub.events import (
    Conformance,
    Event,
    Lift,
    Owner,
    Provenance,
    Quarantine,
    Result,
    ResultDecision,
    Unyank,
    Yank,
)
from gem_hub.package import WheelPackage
from gem_hub.policy import HubPolicy
from gem_hub.records import Release
from gem_hub.reserved import OFFICIAL, PACKAGES
from gem_hub.results.admission import check_decision, check_result
from gem_hub.taken_names import TakenNames

__all__ = ["admitted_in_order", "check_event", "check_release", "closed_namespaces"]

Change = Release | Event


def check_release(release: Release, package: WheelPackage) -> bool:
    """Return whether a release may be added to a package; False if exactly this file is there already.

    Raises:
        HubRefusal: if it may not be added.
    """
    label = f"{release.name} {release.version}"
    for record in package.records:
        if record.parsed_version == release.parsed_version:
            if record.sha256 == release.sha256:
                return False
            raise HubRefusal(
                f"{label}: is published as {record.version} with sha256 {record.sha256[:12]}…, and this file has "
                f"{release.sha256[:12]}…; what is published never changes, so give it a new version"
            )
    if package.records and release.publisher not in package.owners:
        raise HubRefusal(
            f"{label}: {release.publisher!r} is none of the owners ({', '.join(package.owners)}); "
            f"one of them can run: gem hub owner add {release.name} {release.publisher}"
        )
    if package.status == "quarantined":
        raise HubRefusal(f"{label}: {release.name} is quarantined ({package.reason}), so nothing is published for it")
    return True


def check_event(event: Event, package: WheelPackage, operators: Collection[str]) -> None:
    """Check that an event may be added to a package.

    Args:
        event: the event.
        package: the package before it.
        operators: the accounts that operate the hub.

    Raises:
        HubRefusal: if its version does not exist, if it is about another wheel, if the account may not request it, or
            if the last owner would go.
    """
    if isinstance(event, Result):  # anybody may publish one; it says whether an owner has looked at it
        check_result(event, package)
        return
    if isinstance(event, ResultDecision):
        check_decision(event, package, operators)
        return
    if isinstance(event, Yank | Unyank | Conformance | Provenance):
        _check_version(package, event.version)
    if isinstance(event, Conformance | Provenance):
        _check_wheel(package, event)
    _check_account(event, package, operators)
    if isinstance(event, Owner) and event.action == "remove" and event.owner not in package.owners:
        hint = nearest(event.owner, package.owners)
        advice = f"did you mean {hint!r}?" if hint else f"its owners are {', '.join(package.owners)}"
        raise HubRefusal(f"{event.name}: {event.owner!r} is none of its owners; {advice}")
    if not package.after(event).owners:
        raise HubRefusal(f"{event.name}: {package.owners[0]} is its last owner; add another one first")


def _check_account(event: Event, package: WheelPackage, operators: Collection[str]) -> None:
    """Check that an owner or operator requests an event; only operators lift a quarantine that is not an owner's."""
    allowed = {*operators, *package.owners}
    if isinstance(event, Lift):
        last = next((past for past in reversed(package.events) if isinstance(past, Quarantine)), None)
        if last is not None and last.by not in package.owners:
            allowed = {*operators}
    if event.by not in allowed:
        raise HubRefusal(
            f"{event.name}: {event.by!r} may not request {event.kind!r}; "
            f"{', '.join(sorted(allowed)[:5]) or 'no account'} may"
        )


def _check_version(package: WheelPackage, version: str) -> None:
    known = [release.version for release in package.releases]
    if version not in known:
        hint = nearest(version, known)
        advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(known[:10])}"
        raise HubRefusal(f"there is no {package.name} {version}; {advice}")


def _check_wheel(package: WheelPackage, event: Conformance | Provenance) -> None:
    (release,) = (release for release in package.releases if release.version == event.version)
    if isinstance(event, Provenance):
        for attestation in attestations_in(event.document):
            check_subject(attestation, release.filename, release.sha256)
    if event.sha256 not in ("", release.sha256):
        raise HubRefusal(
            f"{event.name} {event.version}: {event.kind} is about a wheel with sha256 {event.sha256[:12]}…, and the "
            f"release has {release.sha256[:12]}…; take the published wheel"
        )


def closed_namespaces(
    name: str, publisher: str, ids: Iterable[str], policy: HubPolicy, entitled: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield an id of each namespace that is closed to a publisher, with those who may use it.

    Args:
        name: the package.
        publisher: its publisher.
        ids: its ids.
        policy: what the hub's operator has decided.
        entitled: the accounts that may use every namespace.
    """
    if publisher in entitled:
        return
    for namespace, env_id in {parse_id(env_id).namespace: env_id for env_id in reversed(list(ids))}.items():
        first_party = official.NAMESPACES.get(namespace, ())
        granted = policy.namespaces.get(namespace)
        if granted is not None:
            if publisher not in granted:
                yield env_id, f"the accounts that it was granted to ({', '.join(granted[:3])})"
        elif first_party and name not in first_party:
            yield env_id, f"GEM's own packages ({', '.join(first_party[:3])})"


def admitted_in_order(
    packages: Iterable[WheelPackage], changes: Sequence[Change], policy: HubPolicy
) -> tuple[list[Change], list[str]]:
    """Admit changes one after the other.

    A change that only later ones allow, such as a release by an owner who is added at the same time, is tried again.

    Args:
        packages: the packages before the changes.
        changes: the changes, in the order in which they are tried.
        policy: what the hub's operator has decided.

    Returns:
        The admitted changes in their order, and a sentence for each of the others.
    """
    state = {package.name: package for package in packages}
    taken = TakenNames(state, {env_id: name for name, package in state.items() for env_id in package.claimed_ids})
    admitted: list[Change] = []
    pending = list(changes)
    while True:
        refused: dict[str, str] = {}
        left: list[Change] = []
        for change in pending:
            try:
                _admit(change, state, taken, policy)
            except HubRefusal as error:
                refused[change.path] = f"{change.path}: {error}"
                left.append(change)
                continue
            admitted.append(change)
        if len(left) == len(pending):
            return admitted, list(refused.values())
        pending = left


def _admit(change: Change, state: dict[str, WheelPackage], taken: TakenNames, policy: HubPolicy) -> None:
    package = state.get(change.name)
    if not isinstance(change, Release):
        if package is None:
            raise HubRefusal(f"there is no package {change.name!r}")
        check_event(change, package, policy.operators)
        state[change.name] = package.after(change)
        return
    entitled = {*policy.operators, *policy.prefix_owners}
    if package is None:
        _check_new_name(change.name, change.publisher, taken, policy)
    ids_of = [environment.id for environment in change.environments]
    for env_id, users in closed_namespaces(change.name, change.publisher, ids_of, policy, entitled):
        raise HubRefusal(f"the namespace of {env_id!r} is for {users}")
    package = package or WheelPackage.of(change.name, (), ())
    if not check_release(change, package):
        raise HubRefusal("is there already")
    for env_id, owner, owned in taken.foreign_ids(change.name, ids_of):
        raise HubRefusal(f"the environment id {env_id!r} is taken: {owner} has {owned!r}")
    state[change.name] = package.after(change)
    taken.add(change.name, state[change.name].claimed_ids)


def _check_new_name(name: str, publisher: str, taken: TakenNames, policy: HubPolicy) -> None:
    if name in OFFICIAL and publisher not in {*policy.operators, *policy.prefix_owners}:
        raise HubRefusal(f"{name!r} is a package of GEM itself, and {publisher!r} may not publish it first")
    if name in PACKAGES:
        raise HubRefusal(f"{name!r} is {PACKAGES[name]}")
    alike = taken.lookalikes(name) if name not in OFFICIAL else []
    if alike and not policy.accepts(name, "name.similar"):
        raise HubRefusal(f"{name!r} is hard to tell from {', '.join(alike[:3])}")
