"""Which keys are trusted for a hub, and how that begins: embedded, pinned, or seen for the first time."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from gem_hub_client.config import OFFICIAL, Hub
from gem_hub_client.errors import MissingFileError, TrustError
from gem_hub_client.names import TIMESTAMP_PATH
from gem_hub_client.official import official_root
from gem_hub_client.seen_digests import forget_digests
from gem_hub_client.state import utc
from gem_hub_client.transport import TIMEOUT, HubSource
from gem_hub_client.trust.log import follow_log
from gem_hub_client.trust.metadata import TrustedRoot, known_root
from gem_hub_client.trust.pins import Pin, new_pin, read_pin, write_pin
from gem_hub_client.trust.refresh import TrustedHub, first_pin, leads_to, refresh

__all__ = ["forget_history", "is_pinned", "trusted_hub"]


def is_pinned(hub: Hub) -> bool:
    """Return whether the keys of a hub are known, so that nothing unsigned is accepted from it.

    Raises:
        TrustError: if the file of its keys is damaged.
    """
    if hub.name == OFFICIAL:
        return hub.remote
    return read_pin(hub) is not None


def trusted_hub(
    hub: Hub, source: HubSource, now: float, timeout: float = TIMEOUT, *, remember: bool = True
) -> TrustedHub | None:
    """Load and verify what is signed in a hub, and remember it.

    Args:
        hub: which one.
        source: reads its files.
        now: the time, in seconds since the epoch.
        timeout: seconds that the server may be silent before it answers.
        remember: whether to write down what was seen.

    Returns:
        What is trusted; None for a hub that is not signed and never was.

    Raises:
        TrustError: if what the hub serves is not signed as its keys demand.
        HubError: if the hub cannot be reached, or its keys cannot be remembered.
    """
    pin = _known_pin(hub, source, now, timeout)
    if pin is None and not hub.embedded:
        pin = first_pin(hub, source, now, timeout=timeout)
    if pin is None:
        return None
    trusted = refresh(hub, source, pin, now, timeout)
    if hub.name == OFFICIAL and trusted.root.version < (carried := _carried_root()).version:
        raise TrustError(
            f"{hub.location}: serves root {trusted.root.version}, and root {carried.version} came with this client, so "
            "keys that were replaced would count again; nothing of it was used"
        )
    trusted = replace(trusted, pin=follow_log(hub, source, trusted))
    if remember and not hub.embedded:
        if trusted.restarted:
            forget_digests(hub)
        write_pin(hub, trusted.pin)
    return trusted


def forget_history(hub: Hub) -> None:
    """Forget what was seen of a hub; its keys stay trusted."""
    pin = read_pin(hub)
    if pin is not None:
        write_pin(hub, pin.without_history())


def _known_pin(hub: Hub, source: HubSource, now: float, timeout: float) -> Pin | None:
    if hub.name != OFFICIAL:
        return read_pin(hub)
    root = official_root()
    if not hub.embedded:
        pin = read_pin(hub)
        return _official_pin(hub, source, pin, timeout) if pin is not None else new_pin(hub, root, utc(now))
    try:
        source.read(TIMESTAMP_PATH, 1 << 20)
    except MissingFileError:
        return None  # only a release signs what it carries
    return new_pin(hub, root, utc(now))


def _official_pin(hub: Hub, source: HubSource, pin: Pin, timeout: float) -> Pin:
    """Return the pin of the official index for this client, which may carry another root than the one before it.

    A root that follows from the pinned one, or the pinned one from it, changes nothing of what was seen. Other keys
    count only where the pinned ones were development keys, whose signatures never proved anything.

    Raises:
        TrustError: if this client carries keys that have nothing to do with the pinned ones.
    """
    carried, pinned = _carried_root(), pin.trusted_root
    first = sha256(carried.content).hexdigest()
    if pin.first == first:
        return pin
    older, newer = sorted((carried, pinned), key=lambda root: root.version)
    if leads_to(hub, source, older, newer, timeout):
        return replace(pin, first=first)
    if pinned.development:
        return Pin(hub.name, carried.content.decode(), pin.since, first)
    raise TrustError(
        f"{hub.name}: this client carries the key {carried.fingerprint}, this machine trusts {pinned.fingerprint}, and "
        f"no roots at {hub.location} lead from one to the other; nothing was used. If the announcement of this client "
        f"names that key, run: gem hub use {OFFICIAL} --forget-key"
    )


def _carried_root() -> TrustedRoot:
    return known_root(official_root(), "the keys of the official index")
