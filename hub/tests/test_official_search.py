"""The search of the official index, asked in the words of users."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gem_hub.canonical import compact_json
from gem_hub.catalogue import line
from gem_hub_client.catalogue import Catalogue
from gem_hub_client.catalogue_reader import read_lines
from gem_hub_client.search import search

HUB = Path(__file__).parents[1]


def official() -> Any:
    """Return the script that derives the official index."""
    found = importlib.util.spec_from_file_location("official_index", HUB / "official_index.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    before = list(sys.path)
    found.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def catalogue() -> Iterator[Catalogue]:
    """The catalogue of the official index, as a client reads it."""
    import gzip
    from io import BytesIO

    packed = gzip.compress(b"".join(compact_json(line(package)) for package in official().packages()))
    with Catalogue.create(None) as made:
        made.apply(read_lines(BytesIO(packed), len(packed), "the official index"), 1)
        yield made


def found(catalogue: Catalogue, query: str) -> list[str]:
    return [hit.record["name"] for hit in search(catalogue, query).hits]


def test_every_package_of_this_project_is_found_by_its_name(catalogue: Catalogue) -> None:
    """Libraries without environments, such as gem-rl, are in the index too, and come first under their own names."""
    names = [path.parent.name for path in HUB.parent.glob("packages/*/pyproject.toml")]
    assert {"gem-rl", "gem-ray", "gem-eval", "gem-terminal"} < {*names}
    assert {name: found(catalogue, name)[0] for name in [*names, "gem-hub"]} == {
        name: name for name in [*names, "gem-hub"]
    }


@pytest.mark.slow(reason="ninety queries")
def test_descriptions_in_the_words_of_users_find_the_package_that_answers(catalogue: Catalogue) -> None:
    """Of 94 queries at least 91 have it among the first three, and those about environments all have."""
    text = (HUB / "tests" / "official_queries.txt").read_text(encoding="utf-8")
    asked = [row.split("|") for row in text.splitlines() if not row.startswith("#")]
    missed = [(query, wanted) for query, wanted in asked if wanted not in found(catalogue, query)[:3]]
    assert len(missed) <= 3, missed
    assert [wanted for _, wanted in missed if "-envs-" in wanted] == []


def test_a_description_is_of_one_environment(catalogue: Catalogue) -> None:
    """An environment that has all words comes before several of one package that have them between them."""
    (first, *_) = search(catalogue, "a game where you deduce a code").hits
    assert [environment["id"] for environment in first.environments] == ["game:Mastermind-v0"]
