"""The digests of all releases that this machine has seen in a hub; what was seen once never changes.

A hub, or whoever answers in its place, that offers other bytes for a version is refused, whatever else it says. The
digests survive ``gem hub update`` and newer snapshots; ``gem hub update --reset`` forgets them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.folders import cache_root
from gem_hub_client.sanitize import sanitize

__all__ = ["check_digests", "forget_digests"]


def check_digests(hub: Hub, page: Mapping[str, Any]) -> None:
    """Compare the releases of a package with those seen before, and remember new ones.

    Raises:
        HubError: if a version has another digest than before; then nothing is remembered.
    """
    path = _folder(hub) / f"{page['name']}.json"
    known = _read(path)
    fresh = dict(known)
    for release in page["releases"]:
        version, digest = str(release["version"]), str(release.get("sha256") or "")
        if not digest:
            continue  # it has no file yet
        if fresh.setdefault(version, digest) != digest:
            now, before = sanitize(digest[:12]), sanitize(fresh[version][:12])
            raise HubError(
                f"{hub.name}: offers another file for {page['name']} {sanitize(version)} (sha256 {now}…) than this "
                f"machine has seen (sha256 {before}…), and releases never change; nothing of it was used. "
                "Tell the hub's operator; if the hub was really made anew, run: gem hub update --reset"
            )
    if fresh == known:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(fresh, sort_keys=True))
    except OSError:
        return  # without a writable disk there is nothing to compare with later


def forget_digests(hub: Hub) -> None:
    """Forget all digests of a hub."""
    shutil.rmtree(_folder(hub), ignore_errors=True)


def _folder(hub: Hub) -> Path:
    # By name: the snapshots of the official hub are one hub.
    return cache_root() / "digests" / sha256(hub.name.encode()).hexdigest()[:32]


def _read(path: Path) -> dict[str, str]:
    try:
        document: Any = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(version): str(digest) for version, digest in document.items()} if isinstance(document, dict) else {}
