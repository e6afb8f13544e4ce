"""The data of a package's page, computed from its ``envs/NAME.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version

from gem.errors import InvalidIdError
from gem.ids import parse_id
from gem_hub.catalogue import release_tags
from gem_hub.first_observations import MOST_OF_PICTURES, PICTURE
from gem_hub.site.changelog import Changelog, changelog_of
from gem_hub.site.changes import ReleaseChanges, changes_of
from gem_hub.site.conformance import Check, checks_of
from gem_hub.site.leaderboards import BoardView, Withdrawn, board_views
from gem_hub.site.text import shortened, tag_slug, web_address
from gem_hub_client.ids import base_id

__all__ = [
    "BaseEnvironment",
    "ExamplePart",
    "Listing",
    "PackageView",
    "ReleaseView",
    "RewardRange",
    "example_parts",
    "view_of",
]

_SUMMARY = 300
_DESCRIPTION = 400
_EXAMPLE = 4000
MOST_ENVIRONMENTS = 400
"""The largest number of rows in the table of environments."""


@dataclass(frozen=True)
class RewardRange:
    """The reward range of one environment or variant."""

    id: str
    low: float | None
    high: float | None
    silence: float | None
    """The declared reward of a silent agent; the lower end by default."""
    target: float | None
    """The declared reward of the reference policy; the upper end by default, None without a range."""
    sees: str
    scores: Mapping[str, Any]
    """Agent → :class:`gem_testing.record.ScoreRecord`."""

    def place(self, value: float) -> float:
        """Return the position of a value between the ends, 0 to 100."""
        if self.low is None or self.high is None or self.high <= self.low:
            return 50.0
        return round(100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 1)


@dataclass(frozen=True)
class ExamplePart:
    """A text or a picture of an observation; the other of the two is empty."""

    text: str
    picture: str
    """A ``data:`` address with nothing but letters, digits and the signs of base64."""


@dataclass
class BaseEnvironment:
    """An environment with its variants."""

    id: str
    description: str
    turns: str
    modality: list[str]
    requires: list[str]
    tags: list[str]
    variants: list[str] = field(default_factory=list)
    rewards: list[RewardRange] = field(default_factory=list)
    example: list[ExamplePart] = field(default_factory=list)
    """The first observation, in order."""
    example_id: str = ""


@dataclass(frozen=True)
class ReleaseView:
    """A row of the table of versions."""

    version: str
    published: str
    publisher: str
    requires_python: str
    requires_gem_core: str
    size: str
    mode: str
    yanked: str | None
    checks: list[Check]
    """Newest gem-core first."""
    address: str
    """The linkable address of the file; empty if there is none, or none is offered."""
    sha256: str
    filename: str
    licence: str
    attested_by: list[str]
    """The publishers of its attestations, in a few words each."""


@dataclass(frozen=True)
class Listing:
    """The data of an offered package in lists and search."""

    name: str
    version: str
    summary: str
    status: str
    mode: str
    tags: list[str]
    requires: list[str]
    environments: list[BaseEnvironment]
    check: Check | None
    install: str
    published: str


@dataclass(frozen=True)
class PackageView:
    """The data of a package's page."""

    name: str
    status: str
    reason: str
    owners: list[str]
    release: ReleaseView
    """The release of the page."""
    releases: list[ReleaseView]
    listing: Listing | None
    """The listing; None if no file of the package is offered, because it is quarantined or all releases are yanked."""
    summary: str
    author: str
    dependencies: list[str]
    links: list[tuple[str, str]]
    """Label and address; left out, like the readme, on a page that warns of its package."""
    environments: list[BaseEnvironment]
    more_environments: int
    environment_ids: int
    """The number of environments, including variants."""
    description: str
    description_content_type: str
    install: str
    """The command that installs it; empty if no file is offered."""
    source: str
    """The repository's folder of an unreleased package."""
    changes: ReleaseChanges | None
    """What is new in the release of the page; None for the first one."""
    changelog: Changelog | None
    """What its author says is new; left out, like the readme, on a page that warns of its package."""
    boards: list[BoardView]
    """The results of agents in its environments; none on a page that warns of its package."""
    withdrawn: list[Withdrawn]


def view_of(details: Mapping[str, Any]) -> PackageView:
    """Return the data of a package's page.

    Args:
        details: the content of ``envs/NAME.json``, made readable.
    """
    quarantined = details["status"] == "quarantined"
    offered = None if quarantined else _offered(details["releases"])
    entry = offered or details["releases"][0]
    releases = [_release(item) for item in details["releases"]]
    release = releases[details["releases"].index(entry)]
    environments = _environments(entry, release.checks)
    install = _install(details["name"], entry) if offered else ""
    boards, withdrawn = ([], []) if quarantined else board_views(details, entry["version"])
    summary = shortened(" ".join(entry["summary"].split()), _SUMMARY)
    listing = offered and Listing(
        name=details["name"],
        version=entry["version"],
        summary=summary,
        status=details["status"],
        mode=entry["mode"],
        tags=release_tags([environment.tags for environment in environments], entry["keywords"]),
        requires=sorted({need for environment in environments for need in environment.requires}),
        environments=environments,
        check=next(iter(release.checks), None),
        install=install,
        published=entry["published"],
    )
    return PackageView(
        name=details["name"],
        status=details["status"],
        reason=details["reason"],
        owners=details["owners"],
        release=release,
        releases=releases,
        listing=listing or None,
        summary=summary,
        author=shortened(entry["author"], 100),
        dependencies=[shortened(text, 200) for text in entry["requires_dist"] if "extra ==" not in text],
        links=[] if quarantined else _links(entry["project_urls"]),
        environments=environments[:MOST_ENVIRONMENTS],
        more_environments=max(0, len(environments) - MOST_ENVIRONMENTS),
        environment_ids=len(entry["environments"]),
        description="" if quarantined else entry["description"],
        description_content_type=entry["description_content_type"],
        install=install,
        source=entry["source"],
        changes=None if quarantined else changes_of(entry, details["releases"]),
        changelog=None if quarantined else changelog_of(entry),
        boards=boards,
        withdrawn=withdrawn,
    )


def _offered(releases: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the newest release that is not yanked; a pre-release only without any other, as in search."""
    sound = [release for release in releases if release["yanked"] is None]
    final = [release for release in sound if not Version(release["version"]).is_prerelease]
    return next(iter(final or sound), None)


def _install(name: str, entry: Mapping[str, Any]) -> str:
    return f"pip install ./{entry['source']}" if entry["mode"] == "source" else f"gem hub install {name}"


def _release(entry: Mapping[str, Any]) -> ReleaseView:
    # A hosted file's address is relative to simple/NAME/, which is as deep as the page in p/NAME/.
    provenance = entry.get("provenance") or {}
    address = entry["url"] if entry["mode"] == "host" else web_address(entry["url"])
    return ReleaseView(
        version=entry["version"],
        published=entry["published"],
        publisher=entry["publisher"],
        requires_python=entry["requires_python"] or "any",
        requires_gem_core=entry["requires_gem_core"] or "any",
        size=_size(entry["size"]),
        mode=entry["mode"],
        yanked=entry["yanked"],
        checks=checks_of(entry["conformance"], entry["conformance_sources"]),
        address=address,
        sha256=entry["sha256"],
        filename=entry["filename"],
        licence=shortened(entry["licence"], 100),
        attested_by=[_publisher(bundle["publisher"]) for bundle in provenance.get("attestation_bundles", [])],
    )


def _publisher(publisher: Mapping[str, Any]) -> str:
    return shortened(" ".join(str(value) for value in publisher.values() if value is not None), 200)


def _size(count: int) -> str:
    if not count:
        return ""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{max(1, round(count / 1000))} kB"


def _links(urls: Mapping[str, str]) -> list[tuple[str, str]]:
    usable = [(shortened(label, 60), web_address(address)) for label, address in sorted(urls.items())]
    return [(label, address) for label, address in usable if address]


def _environments(entry: Mapping[str, Any], checks: list[Check]) -> list[BaseEnvironment]:
    known: dict[str, BaseEnvironment] = {}
    scores = checks[0].scores if checks else {}
    for item in entry["environments"]:
        base = base_id(item["id"])
        environment = known.get(base)
        if environment is None:
            environment = known[base] = BaseEnvironment(
                id=base,
                description=shortened(" ".join(item["description"].split()), _DESCRIPTION),
                turns=item["turns"],
                modality=item["modality"],
                requires=item["requires"],
                tags=list(dict.fromkeys(item["tags"])),
            )
        variant = _variant(item["id"])
        if variant:
            environment.variants.append(variant)
        environment.rewards.append(_reward(item, scores.get(item["id"], {})))
        example = item.get("example_observation", "")
        if example and not environment.example:
            environment.example = example_parts(example)
            environment.example_id = item["id"]
    return list(known.values())


def example_parts(example: str) -> list[ExamplePart]:
    """Return the texts and pictures of an observation, as ``gem_hub.first_observations`` wrote it."""
    parts: list[ExamplePart] = []
    left, left_for_pictures = _EXAMPLE, MOST_OF_PICTURES
    for number, piece in enumerate(PICTURE.split(example)):  # texts and pictures take turns
        if number % 2 and len(piece) <= left_for_pictures:
            left_for_pictures -= len(piece)
            parts.append(ExamplePart("", piece))
        elif number % 2 == 0 and piece.strip() and left > 0:
            parts.append(ExamplePart(shortened(piece.strip("\n"), left), ""))
            left -= len(piece)
    return parts


def _variant(full_id: str) -> str:
    try:
        return parse_id(full_id).variant or ""
    except InvalidIdError:
        return ""


def _reward(item: Mapping[str, Any], scores: Mapping[str, Any]) -> RewardRange:
    low, high = item["reward_range"] or (None, None)
    has_reference = item["reference_policy"] is not None
    return RewardRange(
        id=item["id"],
        low=low,
        high=high,
        silence=low if item["null_return"] is None else item["null_return"],
        target=(high if item["reference_return"] is None else item["reference_return"]) if has_reference else None,
        sees=item["reference_sees"] if has_reference else "",
        scores=scores,
    )


def tags_of(listing: Listing) -> dict[str, str]:
    """Return folder → tag for the tags of a package that have a page."""
    return {tag_slug(tag): tag for tag in reversed(listing.tags) if tag_slug(tag)}
