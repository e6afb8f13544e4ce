"""A hub that python-tuf signs, by code that is not the registry's, and python-tuf's own client as a judge."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import DownloadHTTPError
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer
from tuf.ngclient import FetcherInterface, Updater

from gem_hub_client.config import hub_at
from gem_hub_client.trust.metadata import first_root
from gem_hub_client.trust.pins import Pin, new_pin
from gem_hub_client.trust.refresh import TrustedHub, read_target, refresh

NOW = datetime.now(timezone.utc).replace(microsecond=0)
ONLINE = ("timestamp", "snapshot", "targets")


def signer() -> CryptoSigner:
    return CryptoSigner.generate_ed25519()


class TufHub:
    """Signed metadata in a folder. Each part can be made wrong before it is written."""

    def __init__(self, folder: Path, roots: int = 3, threshold: int = 2) -> None:
        self.folder = folder
        self.root_keys = [signer() for _ in range(roots)]
        self.online = signer()
        self.root = Root(expires=NOW + timedelta(days=365), consistent_snapshot=True)
        for key in self.root_keys:
            self.root.add_key(key.public_key, "root")
        for role in ONLINE:
            self.root.add_key(self.online.public_key, role)
        self.root.roles["root"].threshold = threshold
        self.version = 0
        self.expires = NOW + timedelta(days=7)
        self.write_root(self.root_keys[:threshold])
        self.publish(b'{"serial": 1}')

    def write(self, path: str, content: bytes) -> bytes:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return content

    def signed(self, payload: Any, *signers: CryptoSigner) -> bytes:
        metadata: Metadata[Any] = Metadata(payload)
        for key in signers:
            metadata.sign(key, append=True)
        return metadata.to_bytes(JSONSerializer())

    def write_root(self, signers: list[CryptoSigner]) -> bytes:
        return self.write(f"trust/{self.root.version}.root.json", self.signed(self.root, *signers))

    def next_root(self) -> Root:
        """Go on to the next version of the root, which is not written yet."""
        self.root = Root.from_dict(json.loads(json.dumps(self.root.to_dict())))
        self.root.version += 1
        return self.root

    def publish(self, index: bytes, version: int | None = None, *, key: CryptoSigner | None = None) -> None:
        """Sign another index as the only target."""
        key = key or self.online
        self.version = version if version is not None else self.version + 1
        digest = hashlib.sha256(index).hexdigest()
        self.write(f"trust/targets/{digest}.root.json", index)
        targets = Targets(
            self.version,
            expires=self.expires,
            targets={"root.json": TargetFile.from_data("root.json", index, ["sha256"])},
        )
        content = self.write(f"trust/{self.version}.targets.json", self.signed(targets, key))
        snapshot = Snapshot(self.version, expires=self.expires, meta={"targets.json": self.meta(content)})
        content = self.write(f"trust/{self.version}.snapshot.json", self.signed(snapshot, key))
        timestamp = Timestamp(self.version, expires=self.expires, snapshot_meta=self.meta(content))
        self.write("trust/timestamp.json", self.signed(timestamp, key))

    def meta(self, content: bytes) -> MetaFile:
        return MetaFile(self.version, len(content), {"sha256": hashlib.sha256(content).hexdigest()})

    def copy(self, folder: Path) -> Path:
        """Keep a copy of the folder as it is now, as an attacker does who serves it later."""
        shutil.copytree(self.folder, folder)
        return folder


class LeanClient:
    """The verifier under test, with what it remembers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        root = (folder / "trust" / "1.root.json").read_bytes()
        first_root(root, "the first root")
        self.pin: Pin = new_pin(hub_at(str(folder)), root, "")

    def update(self, folder: Path | None = None, *, now: datetime = NOW) -> bytes:
        """Refresh from a folder, and return the index; what is expired is refused."""
        hub = hub_at(str(folder or self.folder))
        trusted: TrustedHub = refresh(hub, hub.source, self.pin, now.timestamp())
        if trusted.expired:
            raise ValueError(f"expired {trusted.expires}")
        index = read_target(hub, hub.source, trusted, "root.json", 64_000)
        self.pin = trusted.pin
        return index


class _FolderFetcher(FetcherInterface):
    def _fetch(self, url: str) -> Any:
        path = Path(urlsplit(url).path)
        if not path.is_file():
            raise DownloadHTTPError("404", 404)
        return iter([path.read_bytes()])


class TufClient:
    """python-tuf's client, with what it remembers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = Path(tempfile.mkdtemp(dir=folder.parent))
        self.first = (folder / "trust" / "1.root.json").read_bytes()

    def update(self, folder: Path | None = None, *, now: datetime = NOW) -> bytes:
        """Do what :meth:`LeanClient.update` does."""
        base = f"file://{folder or self.folder}/trust"
        updater = Updater(
            str(self.memory),
            f"{base}/",
            tempfile.mkdtemp(dir=self.folder.parent),
            f"{base}/targets/",
            fetcher=_FolderFetcher(),
            bootstrap=self.first if not any(self.memory.iterdir()) else None,
        )
        updater._trusted_set.reference_time = now
        updater.refresh()
        target = updater.get_targetinfo("root.json")
        if target is None:
            raise ValueError("no such target")
        return Path(updater.download_target(target)).read_bytes()
