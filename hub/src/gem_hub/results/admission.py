"""The rules by which a hub takes a result, and decisions on results, given everything that it took before.

A result must be about exactly a release of this hub and one of its environments, made with the code of that wheel, and
signed by the account that sends it. Its returns lie in the range that the environment declares, and its figures are
those of its episodes. Where the recorded lines of the episodes are sent along, they are compared too. Whether the
episodes happened, no rule here can tell: that needs ``gem hub results check``.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from gem_hub.errors import HubRefusal
from gem_hub.events import Result, ResultDecision
from gem_hub.package import WheelPackage
from gem_hub.records import Release
from gem_hub.results.state import StatedResult, results_of
from gem_hub_client.errors import HubError
from gem_hub_client.results.envelope import open_envelope
from gem_hub_client.results.packed_episodes import MOST_EPISODE_BYTES, MOST_PACKED_BYTES, unpacked
from gem_hub_client.results.record import ResultRecord

__all__ = ["check_decision", "check_result", "unpacked_episodes"]

MOST_RESULTS = 500
"""Results of a package that are not withdrawn; the page of a package lists each."""
MOST_UNREVIEWED = 20
"""Results of one publisher that no owner has looked at."""
_CLOCKS_DIFFER = timedelta(hours=1)
_CLOSE = 1e-6
"""Tolerance for sums of rewards, which floating point rounds."""


def check_result(event: Result, package: WheelPackage, packed: bytes | None = None) -> None:
    """Check that a result may be added to a package.

    Args:
        event: the event.
        package: the package before it.
        packed: the lines of its episodes, gzipped; needed for an event that says that the hub has them.

    Raises:
        HubRefusal: with the reason.
    """
    try:
        record, _ = open_envelope(event.envelope)
    except HubError as error:
        raise HubRefusal(f"{event.name}: {error}") from error
    label = f"{event.name} {event.version}: the result of {record.label!r}"
    problem = (
        _misplaced(event, record, package)
        or _known(event, record, results_of(package))
        or _impossible(record, package)
        or _misreckoned(record, packed)
    )
    if problem:
        raise HubRefusal(f"{label}: {problem}")


def check_decision(event: ResultDecision, package: WheelPackage, operators: Collection[str]) -> None:
    """Check that a decision on a result may be added.

    Raises:
        HubRefusal: if there is no such result, it was withdrawn, or the account may not decide.
    """
    stated = next((one for one in results_of(package) if one.id == event.result), None)
    if stated is None:
        raise HubRefusal(f"{event.name} has no result {event.result!r}; its page lists those that it has")
    if stated.state == "withdrawn":
        raise HubRefusal(f"{event.name}: the result {event.result} was withdrawn ({stated.reason}), which is final")
    allowed = {*operators, *package.owners, *([stated.event.by] if event.action == "withdraw" else ())}
    if event.by not in allowed:
        raise HubRefusal(
            f"{event.name}: {event.by!r} may not {event.action} the result {event.result}; "
            f"{', '.join(sorted(allowed)[:5]) or 'no account'} may"
        )


def unpacked_episodes(packed: bytes) -> bytes:
    """Return the lines of episodes.

    Raises:
        HubRefusal: if they are damaged or too large.
    """
    if len(packed) > MOST_PACKED_BYTES:
        raise HubRefusal(f"the packed episodes have over {MOST_PACKED_BYTES:,} bytes; give their address instead")
    try:
        raw = unpacked(packed)
    except ValueError as error:
        raise HubRefusal(f"the packed episodes are no gzip: {error}") from error
    if len(raw) > MOST_EPISODE_BYTES:
        raise HubRefusal(f"the episodes have over {MOST_EPISODE_BYTES:,} bytes; give their address instead")
    return raw


def _misplaced(event: Result, record: ResultRecord, package: WheelPackage) -> str:
    """Return in what a result is not about what the event says, or not by whom; empty if in nothing."""
    if event.by != record.publisher:
        return f"is signed as that of {record.publisher!r}, and {event.by!r} publishes it"
    if (record.package, record.version) != (event.name, event.version):
        return f"is about {record.package} {record.version}, and is published for {event.name} {event.version}"
    published = datetime.fromisoformat(event.created.replace("Z", "+00:00"))
    # As texts: a record may also name a leap second, which a datetime cannot.
    if record.created > (published + _CLOCKS_DIFFER).strftime("%Y-%m-%dT%H:%M:%SZ"):
        return f"says that it was made at {record.created}, which is yet to come; is the clock of that machine right?"
    release = _release(package, event.version)
    if release is None:
        known = ", ".join(one.version for one in package.releases[:10])
        return f"there is no {event.name} {event.version}; there are {known}"
    if package.status == "quarantined":
        return f"{event.name} is quarantined ({package.reason}), so nothing is published for it"
    if not record.wheel == event.sha256 == release.sha256 or record.filename != release.filename:
        return (
            f"is about a wheel with sha256 {record.wheel[:12] or 'none'}…, and the release has {release.sha256[:12]}…; "
            "run it with the published wheel"
        )
    if record.environment not in {environment.id for environment in release.environments}:
        return f"{event.name} {event.version} has no environment {record.environment!r}"
    digests = _code_digests(package, release, record.environment)
    if not digests:
        return (
            f"nothing says which code the wheel of {event.version} holds, as the conformance kit has not run on it; "
            "a registry runs it by itself, and 'gem hub publish --wait' waits for it; in a folder, run: gem hub check "
            f"{event.name}"
        )
    if record.code not in digests:
        return f"was made with other code ({record.code[:12]}…) than that of the wheel ({', '.join(digests)[:12]}…)"
    return ""


def _known(event: Result, record: ResultRecord, results: list[StatedResult]) -> str:
    """Return why what is there already rules a result out; empty if it does not."""
    standing = [one for one in results if one.state != "withdrawn"]
    for one in results:
        if one.id == event.id:
            if one.state == "withdrawn":
                return f"was withdrawn by {one.by}: {one.reason}; what is withdrawn does not come back"
            return f"is published already as {one.id}"
        key, publisher = one.predicate["key"], one.event.by
        if (key == record.key) != (publisher == record.publisher):
            if publisher == record.publisher:
                return f"is signed with another key than the earlier results of {publisher!r} ({key[:16]}…)"
            return f"is signed with the key of {publisher!r}, who published {one.id} with it"
    played = {episode.sha256 for episode in record.episodes}
    for one in results:
        if played & {row[-1] for row in one.predicate["episodes"]}:
            return f"has recorded episodes of the result {one.id} by {one.event.by!r}; each episode counts once"
    if len(standing) >= MOST_RESULTS:
        return f"the package has {len(standing)} results, which is the most; an owner can withdraw old ones"
    unreviewed = sum(one.state == "unreviewed" and one.event.by == record.publisher for one in standing)
    if unreviewed >= MOST_UNREVIEWED:
        return f"{unreviewed} results of {record.publisher!r} wait for an owner of the package, which is the most"
    return ""


def _impossible(record: ResultRecord, package: WheelPackage) -> str:
    """Return which return the environment cannot have given; empty if it could all of them."""
    release = _release(package, record.version)
    assert release is not None  # _misplaced has found it
    (environment,) = (one for one in release.environments if one.id == record.environment)
    if environment.reward_range is None or record.kwargs or record.changing_wrappers:
        return ""  # arguments and wrappers may change what an episode pays
    low, high = environment.reward_range
    for episode in record.episodes:
        if not low - _CLOSE <= episode.episode_return <= high + _CLOSE:
            return (
                f"seed {episode.seed} has a return of {episode.episode_return:g}, and {record.environment} pays "
                f"{low:g} to {high:g}"
            )
    return ""


def _misreckoned(record: ResultRecord, packed: bytes | None) -> str:
    """Return in what the figures differ from the episodes, or these from their recorded lines; empty if in nothing."""
    from gem_eval.hub_results import raw_difference, summary_difference  # heavy, and only results need it

    try:
        difference: str = summary_difference(record)
    except HubError as error:
        return str(error)
    return difference or ("" if packed is None else raw_difference(record, unpacked_episodes(packed)))


def _release(package: WheelPackage, version: str) -> Release | None:
    return next((release for release in package.releases if release.version == version), None)


def _code_digests(package: WheelPackage, release: Release, environment: str) -> list[str]:
    """Return the digests of the environment's package, as the kit found them in this wheel."""
    found: dict[str, Any] = {}
    for event in package.conformance(release.version):
        if event.sha256 not in ("", release.sha256):
            continue
        packages: Any = event.record["packages"]
        for checked in packages:
            ids = {one["id"] for one in checked["environments"]}
            if environment in ids and checked.get("source_digest"):
                found[str(checked["source_digest"])] = None
    return list(found)
