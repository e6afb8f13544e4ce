"""Keeps what was played of environments, so that a build plays only what has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.shell import ROOT, say
from gem.entry_points import folder_digest
from gem_hub.site.views import PackageView

__all__ = ["Played", "what_was_played"]

Played = Mapping[str, Mapping[str, Any]]
"""Id → what :func:`devtools.site.play.played` returned."""


def what_was_played(view: PackageView, cache: Path, *, play: bool) -> Played:
    """Return what was played of a package, and with ``play`` first play what is missing.

    Each line is kept as soon as it is there, in a file that belongs to the digest of the package's sources. So a build
    that was stopped goes on, and another version of the sources begins anew.
    """
    sources = next((ROOT / view.source).glob("src/*/environments.toml")).parent
    path = cache / f"{view.name}-{folder_digest(sources)[:16]}.jsonl"
    found: dict[str, dict[str, Any]] = {}
    if path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines()
        found = {line["id"]: line for line in map(json.loads, lines)}
    missing = [
        (environment, reward.id)
        for environment in view.environments
        for reward in environment.rewards
        if reward.id not in found
    ]
    if play and missing:
        from devtools.site.play import EnvironmentPlayer

        say(f"playing {len(missing)} environments of {view.name}")
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"{view.name}-*.jsonl"):
            if old != path:
                old.unlink()
        with EnvironmentPlayer() as player, path.open("a", encoding="utf-8") as file:
            for environment, env_id in missing:
                shown = any(found.get(reward.id, {}).get("episode") for reward in environment.rewards)
                found[env_id] = player.play(env_id, with_episode=not shown)
                file.write(json.dumps(found[env_id]) + "\n")
                file.flush()
    return found
