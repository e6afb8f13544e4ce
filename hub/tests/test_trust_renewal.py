"""A hub that is served keeps its signatures from expiring."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hub_command import gem_hub
from manual_clock import ManualClock
from test_trust_hub import client, root_key, signed
from toy_hub import make_wheel, publish_wheel

from gem_hub.serve import HubServer
from gem_hub.signing import online
from gem_hub.signing.renewal import SignatureRenewal
from gem_hub.storage import HeldLock, HubFiles, HubLock
from gem_hub.store import Store
from gem_hub_client.state import utc
from gem_hub_client.sync import update
from gem_hub_client.trust.metadata import SignedTimestamp, known_timestamp

__all__ = ["root_key", "signed"]

pytestmark = pytest.mark.usefixtures("own_folders")

DAY = 86_400.0


def timestamp(store: Store) -> SignedTimestamp:
    return known_timestamp((store.folder / "trust" / "timestamp.json").read_bytes(), "timestamp.json")


@pytest.mark.parametrize(("valid_days", "due_after"), [(14, DAY), (1, DAY / 3), (2, 2 * DAY / 3), (365, DAY)])
def test_signatures_are_renewed_long_before_they_expire(signed: Store, valid_days: int, due_after: float) -> None:
    """Once a day, and sooner where they count for less than three days; in between nothing is written."""
    gem_hub("rebuild", "--hub", signed.folder, "--valid-days", valid_days)
    clock = ManualClock(time.time())
    renewal = SignatureRenewal(signed, pytest.fail, clock=clock)
    assert renewal.renew(always=True)
    for _ in range(3):
        before = timestamp(signed)
        assert before.expires == utc(clock.now + valid_days * DAY)
        clock.now += due_after - 60
        assert not renewal.renew()
        assert timestamp(signed) == before
        clock.now += 120
        assert renewal.renew()
        assert timestamp(signed).version > before.version
    assert before.expires > utc(clock.now)


def test_a_client_never_finds_a_served_hub_expired(signed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two months without a change, with a look each hour: the hub is updated from at each moment."""
    clock = ManualClock(time.time())
    renewal = SignatureRenewal(signed, pytest.fail, clock=clock)
    monkeypatch.setattr("gem_hub_client.sync.time.time", clock)
    signatures = 0
    for _ in range(20):
        clock.now += 3 * DAY
        signatures += renewal.renew()
        assert update(client(signed)).serial == 1
    assert signatures == 20


def test_of_two_servers_one_renews(signed: Store) -> None:
    """Both ask the signed files, not their own memory."""
    clock = ManualClock(time.time())
    first, second = (SignatureRenewal(Store(signed.folder), pytest.fail, clock=clock) for _ in range(2))
    clock.now += 2 * DAY
    assert (first.renew(), second.renew(), first.renew()) == (True, False, False)


class WatchedLock:
    """The lock of a hub, which tells whether it is held."""

    def __init__(self, lock: HubLock) -> None:
        self._lock = lock
        self.outlives_holders = lock.outlives_holders
        self.is_held = False

    @contextmanager
    def held(self) -> Iterator[HeldLock]:
        with self._lock.held() as held:
            self.is_held = True
            yield held
            self.is_held = False


def test_a_renewal_holds_the_lock_of_the_hub(signed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it never signs half of a publication."""
    lock = WatchedLock(signed.files.lock())
    real, seen = online.sign_changes, []

    def observed(files: HubFiles, **options: Any) -> bool:
        seen.append(lock.is_held)
        return real(files, **options)

    monkeypatch.setattr(online, "sign_changes", observed)
    assert SignatureRenewal(Store(signed.files, lock), pytest.fail).renew(always=True)
    assert seen == [True]


def test_a_failure_is_told_and_ends_nothing(signed: Store, tmp_path: Path) -> None:
    """Without its online key a registry goes on; the operator reads what to do, and with the key it is renewed."""
    said: list[str] = []
    clock = ManualClock(time.time())
    renewal = SignatureRenewal(signed, said.append, clock=clock)
    keys = signed.folder / ".gem-hub" / "keys"
    keys.rename(tmp_path / "away")
    before = timestamp(signed)
    clock.now += 2 * DAY
    assert not renewal.renew()
    assert "could not be renewed" in said[0]
    assert "GEM_HUB_ONLINE_KEY" in said[0]
    assert timestamp(signed) == before
    (tmp_path / "away").rename(keys)
    assert renewal.renew()
    assert len(said) == 1


@pytest.mark.parametrize("path", ["hub.json", "trust/1.root.json"])
def test_a_damaged_hub_is_told_and_ends_nothing(signed: Store, path: str) -> None:
    """Whatever lies in the folder, the server goes on."""
    said: list[str] = []
    clock = ManualClock(time.time())
    clock.now += 2 * DAY
    (signed.folder / path).write_bytes(b"{")
    assert not SignatureRenewal(signed, said.append, clock=clock).renew()
    assert path in said[0]


def test_a_copy_of_a_hub_is_left_alone(signed: Store) -> None:
    """Who serves a hub that another machine signs is not told to have its key."""
    (signed.folder / ".gem-hub" / "keys" / "online.pem").unlink()
    clock = ManualClock(time.time())
    clock.now += 20 * DAY
    assert not SignatureRenewal(signed, pytest.fail, elsewhere=True, clock=clock).renew(always=True)


def test_a_hub_without_keys_is_left_alone_until_it_has_some(store: Store, tmp_path: Path) -> None:
    """A hub that is signed while it is served is renewed from then on."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    clock = ManualClock(time.time())
    renewal = SignatureRenewal(store, pytest.fail, elsewhere=True, clock=clock)
    assert not renewal.renew(always=True)
    assert not (store.folder / "trust").exists()
    gem_hub("keys", "new", tmp_path / "root.pem")
    gem_hub("keys", "init", "--hub", store.folder, "--key", tmp_path / "root.pem")
    clock.now += 2 * DAY
    assert renewal.renew()


@pytest.mark.parametrize("how", ["folder", "registry"])
def test_both_servers_renew_when_they_begin(
    signed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A change that was cut off before its signature is signed then too."""
    before = timestamp(signed)
    monkeypatch.setattr(Store, "_sign", lambda store, **options: False)
    publish_wheel(signed, make_wheel(tmp_path / "dist", version="0.2.0"))
    monkeypatch.undo()
    publish_option = ["--publish"] if how == "registry" else []
    monkeypatch.setattr(HubServer, "serve_forever", lambda server: None)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: None)
    gem_hub("serve", "--hub", signed.folder, "--port", 0, *publish_option)
    assert timestamp(signed).version > before.version
    assert update(client(signed)).serial == 2
