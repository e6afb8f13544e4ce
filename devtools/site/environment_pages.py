"""Writes a page for each environment, from the manifests and from what was played."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from devtools.shell import ROOT
from devtools.site.environment_arguments import Argument, arguments_of
from devtools.site.played import Played, Playing, what_was_played
from devtools.site.public_api import PublicApi
from gem_hub.site.build import details_of
from gem_hub.site.environment import ShownTurn, environment_body, scored_agents
from gem_hub.site.text import readable
from gem_hub.site.views import BaseEnvironment, PackageView, example_parts, view_of

__all__ = ["FOLDER", "environment_page", "environment_pages", "package_views", "page_of_environment", "turns_of"]

FOLDER = "environments"
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
"""A reference in a docstring."""


def package_views() -> list[PackageView]:
    """Return what the catalogue knows of each package of environments of this repository."""
    sys.path.insert(0, str(ROOT / "hub"))
    import official_index

    with_environments = {path.parent.name for path in official_index.projects()}  # the index has libraries too
    packages = [package for package in official_index.packages() if package.name in with_environments]
    return [view_of(readable(document)) for document in details_of(packages)]


def page_of_environment(env_id: str) -> str:
    """Return the page of an environment.

    >>> page_of_environment("game:Sudoku-v0")
    'environments/game-sudoku-v0'
    """
    return f"{FOLDER}/{re.sub(r'[^a-z0-9._-]+', '-', env_id.lower())}"


def environment_pages(cache: Path, api: PublicApi, playing: Playing) -> Iterator[tuple[str, str]]:
    """Yield each page and its text, and the index.

    Args:
        api: where the classes of the environments are.
        cache: the folder of what was played, by package. It counts as long as the sources of the package are the same.
        playing: what to play of what is not there; otherwise pages show the scores and first observations that the
            conformance records hold, if there are any.
    """
    views = package_views()
    for view in views:
        found = what_was_played(view, cache, playing)
        for environment in view.environments:
            known = arguments_of(api, environment.id)
            yield page_of_environment(environment.id), environment_page(view, environment, found, *known)
    yield f"{FOLDER}/index", "\n".join(_index(views)) + "\n"


def environment_page(
    view: PackageView, environment: BaseEnvironment, found: Played, path: str = "", arguments: Sequence[Argument] = ()
) -> str:
    """Return the text of the page of an environment.

    Args:
        view: its package.
        environment: the environment.
        found: what was played of it.
        path: of its class, where that is known.
        arguments: of the class.
    """
    return "\n".join([*_page(view, environment, found), *_arguments(environment, path, arguments)]) + "\n"


def _arguments(environment: BaseEnvironment, path: str, arguments: Sequence[Argument]) -> Iterator[str]:
    if not path:
        return
    yield from ("", "## Arguments", "")
    yield f"Of the class {{py:obj}}`{path}`, for `gem.make` and the option `--arg` of `gem eval` and `gem rollout`."
    if not arguments:
        yield "It describes none."
        return
    yield from ("", "| argument | default | meaning |", "|---|---|---|")
    for one in arguments:
        default, meaning = f"`{one.default}`" if one.default else "none", _ROLE.sub(r"`\1`", one.meaning)
        yield f"| `{one.name}` | {_cell(default)} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


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
    yield f"| package | [{view.name}](/packages/{view.name}.md), {_inline(view.release.licence)} |"
    yield f"| install | `pip install {view.name}` |"
    yield f"| variants | {', '.join(f'`-{name}`' for name in environment.variants) or 'none'} |"
    yield f"| turns | {environment.turns} |"
    yield f"| modality | {', '.join(environment.modality)} |"
    yield f"| requires | {', '.join(environment.requires) or 'nothing'} |"
    yield f"| tags | {', '.join(environment.tags) or 'none'} |"
    if speed is not None:
        yield f"| speed | {speed:,.0f} steps a CPU second, on the machine that built this page |"
    yield ""
    yield f"`gem info {environment.id}` shows its first observation, `gem play {environment.id}` lets you play."
    yield ""
    turns = [] if episode is None else turns_of(episode["episode"])
    failed = next((line["error"] for line in lines if line.get("error")), None)
    if episode is None and failed is not None:
        yield f"It could not be played on the machine that built this page: {_inline(failed)}"
        yield ""
    played_id, agent = ("", "reference") if episode is None else (episode["id"], episode["policy"])
    body = environment_body(scored, turns, played_id, agent)
    if failed is None and not scored_agents([scored]):
        yield from _without_scores(environment)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    yield from (f"{fence}{{raw}} html", body, fence)


def _without_scores(environment: BaseEnvironment) -> Iterator[str]:
    """Yield that a page has no scores, and the commands that make them; not all have a reference policy."""
    reward = environment.rewards[0]
    agent = "reference" if reward.sees else "random"
    yield "```{note}"
    yield f"This page was built without scores. `gem rollout {reward.id} --agent {agent}` plays the environment and"
    yield "prints the mean return; `python3 dev.py site --play` builds the pages with scores."
    yield "```"
    yield ""


def _scored(reward: Any, found: Played) -> Any:
    scores = found.get(reward.id, {}).get("scores")
    return dataclasses.replace(reward, scores=scores) if scores and not reward.scores else reward


def turns_of(episode: list[Mapping[str, Any]]) -> list[ShownTurn]:
    """Return the turns of an episode that :func:`devtools.site.play.episode_of` has returned."""
    return [
        ShownTurn(
            title="What the agent sees last" if turn.get("last") else f"Turn {number}",
            observation=example_parts(turn["observation"]),
            action=turn["action"] + _rewards(turn.get("rewards", {})),
            reward=turn["reward"],
        )
        for number, turn in enumerate(episode, 1)
    ]


def _rewards(of_agents: Mapping[str, float]) -> str:
    return "".join(f"\n{agent} earns {reward:g}" for agent, reward in of_agents.items())


def _inline(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|$])", r"\\\1", text)


def _index(views: list[PackageView]) -> Iterator[str]:
    total = sum(len(view.environments) for view in views)
    yield "# All environments"
    yield ""
    listing = sum(1 for view in views if view.environments)
    yield f"{total} environments in {listing} packages. `gem list` shows those that are installed."
    for view in views:
        yield ""
        yield f"## {view.name}"
        yield ""
        yield _inline(view.summary)
        yield ""
        if not view.environments:
            yield f"It lists none of its own: [{view.name}](/packages/{view.name}.md) plays what an address names."
            continue
        yield "| environment | what it is | turns |"
        yield "|---|---|---|"
        for environment in view.environments:
            link = f"[`{environment.id}`](/{page_of_environment(environment.id)}.md)"
            yield f"| {link} | {_inline(environment.description)} | {environment.turns} |"
