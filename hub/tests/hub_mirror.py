"""A signed hub at each moment of its history, and a mirror without any key that shows clients what it likes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from toy_hub import contents, make_wheel, publish_wheel

from gem_hub.events import Deprecate, Quarantine, Yank
from gem_hub.signing import online, roots
from gem_hub.signing.keys import create_key
from gem_hub.store import Store
from gem_hub_client.errors import HubError, MissingFileError
from gem_hub_client.transport import Reply, Validators

URL = "https://hub.example/"
SERVED = ("trust/", "log/", "catalog/", "envs/", "simple/", "files/", "releases/", "events/", "root.json")
PLACES = (
    "trust/timestamp",
    "trust/",
    "trust/targets/",
    "log/checkpoint",
    "log/tile/",
    "catalog/",
    "envs/",
    "releases/",
    "events/",
    "files/",
    "simple/",
    "root.json",
)
"""What a mirror can treat in a way of its own; the first that fits a path counts from behind."""

Tamper = Callable[[bytes | None, str, list[dict[str, bytes]]], bytes | None]
"""What the hub has at a path (None for nothing), the path, and the states so far → what the mirror shows."""


def signed_history(folder: Path) -> list[dict[str, bytes]]:
    """Return path → content of all that a signed hub serves, after each of its changes.

    A package gets a second release, which is yanked; another one is put into quarantine; the first gets a third
    release, which needs a package of another publisher.
    """
    store = Store(folder / "hub")
    dist = folder / "dist"

    def publish(*arguments: Any, publisher: str = "someone", **options: Any) -> None:
        publish_wheel(store, make_wheel(dist, *arguments, **options), publisher)

    def sign() -> None:
        key = create_key(folder / "root.pem")
        root = roots.first_root([key.public_key], 1, online.new_online_key(store.files), 30)
        roots.sign_root(root, [key])
        store.install_root(1, roots.dumped(root))

    changes: list[Callable[[], Any]] = [
        lambda: publish("toy-quest", ids=["quest:Walk-v0"], publisher="another"),
        lambda: publish("toy-maze", ids=["maze:Walk-v0"]),
        lambda: publish(),
        sign,
        lambda: publish(version="0.2.0"),
        lambda: store.add_event(Yank(name="toy-envs", by="someone", version="0.2.0", reason="loses rewards")),
        lambda: store.add_event(Quarantine(name="toy-maze", by="someone", reason="steals keys")),
        lambda: publish(version="0.3.0", metadata=["Requires-Dist: toy-quest>=0.1"]),
        lambda: store.add_event(Deprecate(name="toy-envs", by="someone", reason="use toy-quest")),
    ]
    states = []
    for number, change in enumerate(changes):
        change()
        if number >= 3:
            states.append({path: text for path, text in contents(store.folder).items() if path.startswith(SERVED)})
    return states


class Mirror:
    """What answers at the hub's address, in the place of :class:`gem_hub_client.transport.WebSource`."""

    def __init__(self, states: list[dict[str, bytes]]) -> None:
        self.states = states
        self.now = 0
        """The number of the state that the hub is in."""
        self.tampering: dict[str, Tamper] = {}
        """How paths are treated, by their beginning; the longest counts."""
        self.shown: dict[str, bytes | None] = {}
        """What it has answered at each path; None for a 404."""

    @property
    def past(self) -> list[dict[str, bytes]]:
        return self.states[: self.now + 1]

    def shows(self, serial: int) -> bool:
        """Return whether all that it has shown is what the hub had at a moment."""
        state = next(state for state in self.states if json.loads(state["root.json"])["serial"] == serial)
        return all(content == state.get(path) for path, content in self.shown.items())

    def read(self, path: str, limit: int, known: Validators | None = None, timeout: float = 0.0) -> Reply:
        content = self._shown(path)
        if len(content) > limit:
            raise HubError(f"{URL}{path}: is larger than the {limit:,} bytes that such a file may have")
        return Reply(content, Validators())

    def copy(self, path: str, target: BinaryIO, size: int, progress: Callable[[int], None]) -> None:
        target.write(self._shown(path)[: size + 1])

    def negotiate(self, path: str, accept: str, limit: int) -> tuple[str, bytes]:
        return "text/html", self._shown(f"{path}index.html")

    def content_type(self, path: str) -> str:
        return "application/vnd.pypi.simple.v1+json"

    def _shown(self, path: str) -> bytes:
        content = self.states[self.now].get(path)
        place = max((place for place in self.tampering if path.startswith(place)), key=len, default=None)
        if place is not None:
            content = self.tampering[place](content, path, self.past)
        self.shown[path] = content
        if content is None:
            raise MissingFileError(f"{URL}{path}: the server answers 404")
        return content


def fail(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes:
    """Answer 500, or nothing before the client gives up."""
    raise HubError(f"{URL}{path}: the server answers 500")


def drop(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> None:
    """Say that there is no such file."""


def empty(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes:
    """Answer without a body."""
    return b""


def truncate(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Break off in the middle."""
    return None if content is None else content[: len(content) // 2]


def flip(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Change a bit in the middle."""
    if not content:
        return content
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def swap(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Show another file of the same folder."""
    folder = path.rpartition("/")[0]
    others = sorted(other for other in past[-1] if other.rpartition("/")[0] == folder and other != path)
    return past[-1][others[0]] if others else content


def replay(age: int) -> Tamper:
    """Return what shows a file as it was some changes ago."""

    def shown(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
        return past[max(0, len(past) - 1 - age)].get(path)

    return shown


def raise_serial(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Show a file that says to be newer than everything else, if it is one that says so at all."""

    def change(document: dict[str, Any]) -> None:
        if "serial" in document:
            document["serial"] = 1_000_000

    return _edited(content, change)


def foreign_release(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Raise the serial, and add a release with a wheel of the mirror's own, neither yanked nor in quarantine."""

    def change(document: dict[str, Any]) -> None:
        first = document["releases"][-1]
        digest = hashlib.sha256(b"evil").hexdigest()
        filename = first["filename"].replace("-0.1.0-", "-9.0-")
        place = {"filename": filename, "sha256": digest, "url": f"https://evil.example/{filename}"}
        document["releases"].insert(0, {**first, "version": "9.0", "mode": "link", "yanked": None, **place})
        document.update(serial=1_000_000, status="active", reason="")

    return _edited(content, change)


def without_yanks(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Raise the serial, and take back every yank and quarantine."""

    def change(document: dict[str, Any]) -> None:
        for release in document["releases"]:
            release["yanked"] = None
        document.update(serial=1_000_000, status="active", reason="")

    return _edited(content, change)


def with_requirement(content: bytes | None, path: str, past: list[dict[str, bytes]]) -> bytes | None:
    """Add another publisher's package to what a release needs."""

    def change(document: dict[str, Any]) -> None:
        for release in document["releases"]:
            release["requires_dist"] = [*release["requires_dist"], "toy-quest"]
            release["hub_requires"] = [*release["hub_requires"], "toy-quest"]
        document["serial"] += 1

    return _edited(content, change)


TAMPERINGS: dict[str, Tamper] = {
    "fail": fail,
    "drop": drop,
    "empty": empty,
    "truncate": truncate,
    "flip": flip,
    "swap": swap,
    "replay 1": replay(1),
    "replay 2": replay(2),
    "replay 4": replay(4),
    "raise serial": raise_serial,
    "foreign release": foreign_release,
    "without yanks": without_yanks,
    "with requirement": with_requirement,
}


def _edited(content: bytes | None, change: Callable[[dict[str, Any]], None]) -> bytes | None:
    try:
        document = json.loads(content or b"")
        change(document)
    except (ValueError, KeyError, IndexError, AttributeError, TypeError):
        return content
    return content if document == json.loads(content or b"") else json.dumps(document).encode()


@contextmanager
def mirrored(states: list[dict[str, bytes]], home: Path) -> Iterator[Mirror]:
    """Put a mirror in the place of the hub's server, and caches and keys into a folder."""
    mirror = Mirror(states)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gem_hub_client.transport.WebSource", lambda url: mirror)
        patch.setattr("gem_hub_client.verify_package.WebSource", lambda url: mirror)
        patch.setattr("gem_hub_client.pages.time.sleep", lambda seconds: None)
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("GEM_HUB", URL)
        yield mirror
