"""The recall that benchmarks/search_quality.py publishes, and that client and gate know the same tags."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gem_hub_client.lexicon import LEXICON
from gem_testing.vocabulary import problem_of_tag, vocabulary

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from search_quality import packages, queries, report, without_tags


@pytest.fixture(scope="module")
def figures() -> dict[str, tuple[float, ...]]:
    return report(packages(), queries())


def test_recall_is_above_nine_tenths(figures: dict[str, tuple[float, ...]]) -> None:
    """Of 80 judged queries over 240 packages, also of the 40 that nothing was tuned with."""
    assert len(packages()) == 240
    assert len(queries()) == 80
    assert all(figures[half][0] > 0.9 for half in ("tuned", "held out", "all")), figures


def test_controlled_tags_are_worth_their_while(figures: dict[str, tuple[float, ...]]) -> None:
    """Without them recall is clearly lower."""
    bare = report([without_tags(line) for line in packages()], queries())
    assert bare["all"][0] < figures["all"][0] - 0.03


def test_judgements_and_tags_are_sound() -> None:
    """Every judged package exists, and every tag of the packages would pass the gate."""
    names = {line["name"] for line in packages()}
    assert all(query.relevant and query.relevant <= names for query in queries())
    assert len({query.text for query in queries()}) == 80
    assert [tag for line in packages() for tag in line["tags"] if problem_of_tag(tag)] == []


def test_the_lexicon_knows_every_controlled_tag() -> None:
    """The client finds each tag of the vocabulary by words of its own, and knows no other."""
    known = {tag for tag in json.loads(LEXICON.read_bytes())["tags"] if not tag.startswith("turns:")}
    assert known == {f"{namespace}:{name}" for namespace, names in vocabulary().items() for name in names} - {
        "modality:text"  # which nearly all environments have
    }
