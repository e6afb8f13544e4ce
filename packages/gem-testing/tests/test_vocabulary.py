"""The controlled tags, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from gem.discovery.manifest import parse
from gem.discovery.manifest_schema import EnvironmentEntry
from gem_testing.vocabulary import NAMESPACES, problem_of_tag, propose_tags, vocabulary

ROOT = Path(__file__).parents[3]
MANIFESTS = sorted(path for path in ROOT.glob("packages/gem-*/src/*/environments.toml"))


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        ("grid", None),
        ("domain:code", None),
        ("skill:tool-use", None),
        ("domain:coed", "is not in the vocabulary; did you mean 'domain:code'?"),
        ("skill:planing", "is not in the vocabulary; did you mean 'skill:planning'?"),
        ("skill:zzz", "is not in the vocabulary; known are arithmetic, calibration, "),
        ("domian:code", "has an unknown namespace; write 'domain:code', or leave the colon out"),
        ("topic:code", "has an unknown namespace; write one of domain or skill, or leave the colon out"),
        ("modality:image", "is no tag; write modality = ['image']"),
        ("domain:", "is not in the vocabulary; known are agriculture, "),
    ],
)
def test_a_wrong_tag_is_named_with_the_nearest(tag: str, problem: str | None) -> None:
    """Only listed tags are accepted in the controlled namespaces; tags without a colon are free."""
    told = problem_of_tag(tag)
    assert (told or "")[: len(problem or "")] == (problem or "")
    assert (told is None) == (problem is None)


def test_missing_tags_are_proposed() -> None:
    """What lacks a domain or a skill is told the names that there are; what has both is told nothing."""
    assert propose_tags(["domain:code", "skill:debugging"]) is None
    told = propose_tags(["domain:code", "grid"])
    assert told is not None
    assert told.startswith("has no skill among its tags, so that fewer searches find it; add skill:NAME (skill: ")
    assert "domain:NAME and skill:NAME" in (propose_tags([]) or "")


def test_every_tag_has_a_description() -> None:
    """Each is one sentence, and the modalities are those of the manifest's schema."""
    assert set(vocabulary()) == {*NAMESPACES, "modality"}
    for names in vocabulary().values():
        assert list(names) == sorted(names)
        assert all(text.endswith(".") and text[0].isupper() for text in names.values())
    (literal,) = get_args(EnvironmentEntry.model_fields["modality"].annotation)
    assert set(vocabulary()["modality"]) == set(get_args(literal))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parts[-4])
def test_the_environments_of_this_repository_are_tagged(path: Path) -> None:
    """Every environment of ours has a domain and a skill, and no tag that the gate would refuse."""
    for entry in parse(path).get("environment", ()):  # a package may bring resolvers alone
        assert propose_tags(entry["tags"]) is None, entry["id"]
        assert [tag for tag in entry["tags"] if problem_of_tag(tag)] == [], entry["id"]
