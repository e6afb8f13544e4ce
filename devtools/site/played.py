"""Keeps what was played of environments, so that a build plays only what has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

from devtools.shell import ROOT, say
from gem.entry_points import folder_digest
from gem_hub.site.views import PackageView

__all__ = ["Played", "Playing", "what_was_played"]

Played = Mapping[str, Mapping[str, Any]]
"""Id → what :func:`devtools.site.play.played` returned."""


class Playing(IntEnum):
    """How much of what is missing a build plays."""

    NOTHING = 0
    EXAMPLES = 1
    """An episode of each environment."""
    SCORES = 2
    """Also the agents in each variant."""


def what_was_played(view: PackageView, cache: Path, playing: Playing) -> Played:
    """Return what was played of a package; what is wanted and missing is played first.

    Each line is kept as soon as it is there, in a file that belongs to the digest of the package's sources. So a build
    that was stopped goes on, and another version of the sources begins anew.
    """
    sources = next((ROOT / view.source).glob("src/*/environments.toml")).parent
    path = cache / f"{view.name}-{folder_digest(sources)[:16]}.jsonl"
    found: dict[str, dict[str, Any]] = {}
    if path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines()
        found = {line["id"]: line for line in map(json.loads, lines)}
    missing = list(_missing(view, found, playing))
    if missing:
        from devtools.site.play import LONGEST, LONGEST_EXAMPLE, EnvironmentPlayer

        with_scores = playing is Playing.SCORES
        say(f"playing {len(missing)} {'variants' if with_scores else 'environments'} of {view.name}")
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"{view.name}-*.jsonl"):
            if old != path:
                old.unlink()
        with (
            EnvironmentPlayer(LONGEST if with_scores else LONGEST_EXAMPLE) as player,
            path.open("a", encoding="utf-8") as file,
        ):
            for env_id, with_episode in missing:
                found[env_id] = player.play(env_id, with_episode=with_episode, with_scores=with_scores)
                file.write(json.dumps(found[env_id]) + "\n")
                file.flush()
    return found


def _missing(view: PackageView, found: Played, playing: Playing) -> Iterator[tuple[str, bool]]:
    """Yield each id that is to be played, and whether for an episode as well."""
    for environment in view.environments if playing else ():
        rewards = environment.rewards if playing is Playing.SCORES else environment.rewards[:1]
        for number, reward in enumerate(rewards):
            line = found.get(reward.id)
            if line is None or (playing is Playing.SCORES and line.get("scores") is None and "error" not in line):
                yield reward.id, number == 0
