"""Writes a page for each environment, from the manifests and from what was played."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devtools.shell import ROOT, say
from gem.entry_points import folder_digest
from gem_hub.site.build import details_of
from gem_hub.site.environment import ShownTurn, environment_body
from gem_hub.site.text import readable
from gem_hub.site.views import BaseEnvironment, PackageView, example_parts, view_of

__all__ = ["FOLDER", "environment_pages", "package_views", "page_of_environment", "turns_of"]

FOLDER = "environments"
LONGEST = 1800.0
"""Wall-clock seconds for the environments of a package."""

Played = Mapping[str, Mapping[str, Any]]
"""Id → what :mod:`devtools.site.play` wrote."""


def package_views() -> list[PackageView]:
    """Return what the catalogue knows of each package of environments of this repository."""
    sys.path.insert(0, str(ROOT / "hub"))
    import official_index

    return [view_of(readable(document)) for document in details_of(official_index.packages())]


def page_of_environment(env_id: str) -> str:
    """Return the page of an environment.

    >>> page_of_environment("game:Sudoku-v0")
    'environments/game-sudoku-v0'
    """
    return f"{FOLDER}/{re.sub(r'[^a-z0-9._-]+', '-', env_id.lower())}"


def environment_pages(cache: Path, *, play: bool) -> Iterator[tuple[str, str]]:
    """Yield each page and its text, and the index.

    Args:
        cache: the folder of what was played, by package. It counts as long as the sources of the package are the same.
        play: whether to play what is not there; otherwise pages show the scores and first observations that the
            conformance records hold, if there are any.
    """
    views = package_views()
    for view in views:
        found = played(view, cache, play=play)
        for environment in view.environments:
            yield page_of_environment(environment.id), "\n".join(_page(view, environment, found)) + "\n"
    yield f"{FOLDER}/index", "\n".join(_index(views)) + "\n"


def played(view: PackageView, cache: Path, *, play: bool) -> Played:
    """Return what was played of a package: from the cache, or played now, or nothing."""
    sources = next((ROOT / view.source).glob("src/*/environments.toml")).parent
    digest = folder_digest(sources)
    path = cache / f"{view.name}.json"
    if path.is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["digest"] == digest:
            return {line["id"]: line for line in kept["lines"]}
    if not play:
        return {}
    say(f"playing the environments of {view.name}")
    cache.mkdir(parents=True, exist_ok=True)
    part = cache / f"{view.name}.part"
    ids = [reward.id for environment in view.environments for reward in environment.rewards]
    command = [sys.executable, "-m", "devtools.site.play", str(part), *ids]
    try:
        subprocess.run(command, cwd=ROOT, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        say(f"{view.name}: stopped after {LONGEST:.0f} s; the pages show what was played until then")
    lines = [json.loads(line) for line in part.read_text(encoding="utf-8").splitlines()] if part.is_file() else []
    path.write_text(json.dumps({"digest": digest, "lines": lines}), encoding="utf-8")
    part.unlink(missing_ok=True)
    return {line["id"]: line for line in lines}


def _page(view: PackageView, environment: BaseEnvironment, found: Played) -> Iterator[str]:
    lines = [found[reward.id] for reward in environment.rewards if reward.id in found]
    scored = dataclasses.replace(environment, rewards=[_scored(reward, found) for reward in environment.rewards])
    episode = next((line for line in lines if line.get("episode")), None)
    speed = next((line["steps_per_cpu_second"] for line in lines if line.get("steps_per_cpu_second")), None)
    # Not in the navigation, which is a part of every page; the index lists them.
    yield from ("---", "orphan: true", "---", "")
    yield f"# `{environment.id}`"
    yield ""
    yield _inline(environment.description)
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| listed in | [all environments](/{FOLDER}/index.md) |"
    yield f"| package | [{view.name}](/packages/{view.name}.md), {_inline(view.licence)} |"
    yield f"| install | `pip install {view.name}` |"
    yield f"| variants | {', '.join(f'`-{name}`' for name in environment.variants) or 'none'} |"
    yield f"| turns | {environment.turns} |"
    yield f"| modality | {', '.join(environment.modality)} |"
    yield f"| requires | {', '.join(environment.requires) or 'nothing'} |"
    yield f"| tags | {', '.join(environment.tags) or 'none'} |"
    if speed is not None:
        yield f"| speed | {speed:,.0f} steps a CPU second, on the machine that built this page |"
    yield ""
    yield f"`gem info {environment.id}` shows its arguments and its first observation, `gem play` lets you play."
    yield ""
    turns = [] if episode is None else turns_of(episode["episode"])
    body = environment_body(scored, turns, "" if episode is None else episode["id"])
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    yield from (f"{fence}{{raw}} html", body, fence)


def _scored(reward: Any, found: Played) -> Any:
    scores = found.get(reward.id, {}).get("scores")
    return dataclasses.replace(reward, scores=scores) if scores and not reward.scores else reward


def turns_of(episode: list[Mapping[str, Any]]) -> list[ShownTurn]:
    """Return the turns of an episode that :mod:`devtools.site.play` has written."""
    return [
        ShownTurn(
            title=f"Turn {number}" if turn["reward"] is not None else "What the agent sees last",
            observation=example_parts(turn["observation"]),
            action=turn["action"],
            reward=turn["reward"],
        )
        for number, turn in enumerate(episode, 1)
    ]


def _inline(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|$])", r"\\\1", text)


def _index(views: list[PackageView]) -> Iterator[str]:
    total = sum(len(view.environments) for view in views)
    yield "# All environments"
    yield ""
    yield f"{total} environments in {len(views)} packages. `gem list` shows those that are installed."
    for view in views:
        yield ""
        yield f"## {view.name}"
        yield ""
        yield _inline(view.summary)
        yield ""
        yield "| environment | what it is | turns |"
        yield "|---|---|---|"
        for environment in view.environments:
            link = f"[`{environment.id}`](/{page_of_environment(environment.id)}.md)"
            yield f"| {link} | {_inline(environment.description)} | {environment.turns} |"
