"""The order of the site's pages: which section each document belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SECTIONS", "Section", "page_of", "sections"]


@dataclass(frozen=True)
class Section:
    """A part of the navigation."""

    title: str
    documents: tuple[str, ...]
    """Markdown files of the repository, or pages that the build writes (without a suffix)."""


SECTIONS = (
    Section(
        "Start",
        (
            "docs/start.md",
            "docs/concepts.md",
            "docs/questions.md",
            "docs/README.md",
            "docs/commands.md",
            "docs/compared.md",
            "docs/new-users.md",
        ),
    ),
    Section(
        "Tutorials",
        (
            "docs/guides/evaluation.md",
            "docs/guides/training.md",
            "docs/guides/first-environment.md",
            "docs/guides/tools.md",
            "docs/guides/terminal.md",
            "docs/guides/publishing.md",
        ),
    ),
    Section(
        "Coming from",
        (
            "docs/guides/coming-from-gymnasium.md",
            "docs/guides/coming-from-verifiers.md",
            "docs/guides/coming-from-inspect.md",
            "docs/guides/coming-from-gem-llm.md",
            "docs/guides/upgrading.md",
        ),
    ),
    Section("Environments", ("environments/index", "docs/games.md", "docs/worlds.md")),
    Section(
        "Guides for trainers",
        (
            "docs/guides/rollouts.md",
            "docs/guides/vectorization.md",
            "docs/guides/pretrained-models.md",
            "docs/guides/trainers.md",
            "docs/guides/curricula.md",
            "docs/guides/rewards.md",
            "docs/grader-errors.md",
            "docs/guides/trajectories.md",
            "docs/guides/data-sets.md",
            "docs/guides/scale.md",
            "docs/guides/environment-server.md",
            "docs/guides/gateway.md",
            "docs/guides/harnesses.md",
            "docs/guides/foreign-environments.md",
            "docs/guides/software-engineering.md",
            "docs/guides/office.md",
            "docs/paper.md",
        ),
    ),
    Section(
        "Guides for authors",
        (
            "docs/guides/dataset-environment.md",
            "docs/guides/picture-environment.md",
            "docs/guides/tool-environment.md",
            "docs/guides/multi-agent.md",
            "docs/guides/worlds-from-descriptions.md",
            "docs/guides/coding-agents.md",
            "docs/guides/state-and-seeds.md",
            "docs/guides/conformance.md",
            "docs/guides/attacks.md",
            "docs/guides/registry.md",
            "docs/guides/hub.md",
            "docs/guides/run-a-registry.md",
        ),
    ),
    Section(
        "Reference",
        ("reference/index", "docs/wrappers.md", "docs/chat-templates.md", "docs/hooks.md", "packages/index"),
    ),
    Section(
        "Project",
        ("docs/architecture.md", "docs/domains.md", "benchmarks/README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    ),
)


def sections(root: Path) -> tuple[Section, ...]:
    """Return the sections, with a last one for the pages of ``docs/`` that none of them lists yet."""
    listed = {document for section in SECTIONS for document in section.documents}
    found = {path.relative_to(root).as_posix() for path in root.glob("docs/**/*.md")}
    return (*SECTIONS, Section("Further guides", tuple(sorted(found - listed)))) if found - listed else SECTIONS


def page_of(document: str) -> str:
    """Return the page of a document of the repository, without a suffix.

    >>> page_of("docs/guides/rewards.md"), page_of("packages/gem-rl/README.md"), page_of("README.md")
    ('guides/rewards', 'packages/gem-rl', 'index')
    """
    if document == "README.md":
        return "index"
    if document == "docs/README.md":
        return "guides/index"
    if document == "hub/README.md":
        return "packages/gem-hub"
    page = document.removeprefix("docs/").removesuffix(".md").removesuffix("/README")
    return page if page.startswith(("guides/", "packages/")) else page.lower()
