"""What a person is told of a hub's keys."""

from __future__ import annotations

from gem_hub_client.config import OFFICIAL, Hub
from gem_hub_client.official import official_root
from gem_hub_client.state import State
from gem_hub_client.trust.metadata import TrustedRoot, known_root
from gem_hub_client.trust.pins import read_pin

__all__ = ["key_sentence", "trusted_root_of"]


def trusted_root_of(hub: Hub) -> TrustedRoot | None:
    """Return the root that is trusted for a hub; None for one that is not signed."""
    pin = read_pin(hub) if not hub.embedded else None
    if pin is not None:
        return pin.trusted_root
    if hub.name == OFFICIAL and (hub.remote or State.read(hub.cache).signed):
        return known_root(official_root(), "the keys of the official index")
    return None


def key_sentence(hub: Hub) -> str:
    """Return one sentence about whether a hub is signed, and with which key."""
    root = trusted_root_of(hub)
    if root is not None and root.development:
        return (
            f"{hub.name} is signed with a development key, which everybody has: until its first release that proves "
            "nothing about who made it"
        )
    if root is not None:
        return f"{hub.name} is signed with the key {root.fingerprint}"
    if hub.embedded:
        return f"{hub.name} is the index of this build of gem-hub-client, which is not signed; only releases are"
    if not State.read(hub.cache).checked:
        return f"{hub.name} was not asked yet, so nothing is known of its keys"
    return f"{hub.name} is not signed: who can answer at its address, or write there, can change it"
