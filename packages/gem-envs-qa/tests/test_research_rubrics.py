"""ResearchRubrics: what a program proposes from samples of a report, and how it checks them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.policies import Policy
from gem.rollout import play_episode
from gem.trajectory import Trajectory
from gem_envs_qa.research.corpus_env import CorpusResearchEnv
from gem_envs_qa.research.rubrics import ResearchRubrics
from gem_questions.rewards.rubric_buffer import RubricBuffer, RubricItem, rubric_value

WALKS = "and she was always fond of long walks along the old quays there."
CORPUS = [
    {"id": "a17", "title": "Elder Yard", "contents": '"Elder Yard"\nThe Elder Yard, a yard, was founded by Ada Holm.'},
    {"id": "b2", "title": "Ada Holm", "contents": f'"Ada Holm"\nAda Holm was born in Sund, {WALKS}'},
    {"id": "7", "title": "New Yard", "contents": '"New Yard"\nThe New Yard, a yard, belongs to Tom Holm.'},
]
TASK = {
    "question": "How did the Elder Yard come about?",
    "relations": {"founder": "who founded a yard", "birthplace": "where a person was born"},
    "facts": [
        {"subject": "Elder Yard", "relation": "founder", "object": "Ada Holm", "documents": ["a17"]},
        {"subject": "Ada Holm", "relation": "birthplace", "object": "Sund", "documents": ["b2"]},
    ],
}
FOUNDED, BORN = "- Elder Yard | founder | Ada Holm [a17]", "- Ada Holm | birthplace | Sund [b2]"
OTHER = "- New Yard | founder | Tom Holm [7]"


class Script(Policy[str, str]):
    """Gives the actions of a list."""

    def __init__(self, *actions: str) -> None:
        self.actions = list(actions)

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return self.actions.pop(0)


def sample(*lines: str, searches: tuple[str, ...] = ("yard", "Ada Holm")) -> Trajectory:
    """Return the episode of a report."""
    searched = [f"<search>{words}</search>" for words in searches]
    report = "<report>" + "\n".join(lines) + "</report>"
    return play_episode(CorpusResearchEnv(CORPUS, [TASK]), Script(*searched, report), seed=0)


def proposed(*samples: Trajectory) -> dict[str, RubricItem]:
    found = ResearchRubrics().propose([(one, one.episode_return) for one in samples])
    return {item.name: item for item in found}


def share(name: str, of: Trajectory) -> float:
    return ResearchRubrics().share(RubricItem(name, positive=False, check={"measure": name}), of)


def test_claims_of_better_reports_that_their_articles_say_are_proposed() -> None:
    """Not those that all have, not unsupported ones, and not what worse reports have instead."""
    good, worse = sample(FOUNDED, BORN), sample(FOUNDED, OTHER, "- Ada Holm | birthplace | Paris [b2]")
    items = proposed(good, worse)
    assert [name for name, item in items.items() if item.positive] == ["Ada Holm | birthplace | Sund"]
    item = items["Ada Holm | birthplace | Sund"]
    assert ResearchRubrics().share(item, good) == 1.0
    assert ResearchRubrics().share(item, worse) == 0.0
    assert ResearchRubrics().share(item, sample("- the Ada Holm | Birthplace | sund [b2, a17]")) == 1.0
    for unsupported in ("- Ada Holm | birthplace | Sund [a17]", "- Ada Holm | birthplace | Sund [b2, a17, 7]"):
        assert ResearchRubrics().share(item, sample(unsupported)) == 0.0


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("unsupported", [FOUNDED, "- Ada Holm | birthplace | Sund [7]"], 0.4 / 0.9),
        ("unseen", [FOUNDED, BORN, "- New Yard | founder | Tom Holm [99]"], 1 / 3),
        ("contradicting", [FOUNDED, BORN, "- Ada Holm | birthplace | Paris [b2]"], 2 / 3),
        ("repeating", [FOUNDED, BORN, FOUNDED.lower()], 1 / 3),
        ("unconnected", [FOUNDED, BORN, OTHER], (1 / 3 - 0.1) / 0.9),
        ("copied", [f"{FOUNDED} {WALKS}"], 13 / 22),
    ],
)
def test_each_way_to_fill_a_report_is_measured_and_proposed_once_a_sample_has_it(
    name: str, lines: list[str], expected: float
) -> None:
    """By its share of the report, and never of an honest one."""
    honest, gamed = sample(FOUNDED, BORN), sample(*lines)
    assert share(name, honest) == 0.0
    assert share(name, gamed) == pytest.approx(expected)
    items = proposed(honest, gamed)
    assert name in items
    assert not items[name].positive
    assert name not in proposed(honest, honest)


def test_a_conclusion_is_supported_by_as_many_articles_as_it_compares() -> None:
    """It hangs together with the task without naming a thing of it."""
    concluded = sample(FOUNDED, BORN, "- conclusion | earliest | Elder Yard [a17, b2, 7]")
    assert share("unsupported", concluded) == share("unconnected", concluded) == 0.0
    assert share("unsupported", sample(FOUNDED, BORN, "- conclusion | earliest | Old Yard [a17, b2, 7]")) > 0.0


def test_a_report_is_padded_beyond_the_best_one_and_a_quarter() -> None:
    """The bound follows from the group; a group whose reports are all as short has no such item."""
    best, long = sample(FOUNDED, BORN), sample(FOUNDED, BORN, OTHER, "- Tom Holm | birthplace | Rom [7]")
    item = proposed(best, long)["padded"]
    assert [ResearchRubrics().share(item, one) for one in (best, long)] == [0.0, 0.5]
    assert "padded" not in proposed(best, sample(FOUNDED))


def test_an_article_that_the_agent_never_saw_supports_nothing() -> None:
    """The number alone may be guessed."""
    assert share("unsupported", sample(BORN, searches=("yard",))) == pytest.approx(1.0)
    assert share("unseen", sample(BORN, searches=("yard",))) == 1.0


def test_a_rubric_of_samples_ranks_them_and_pays_silence_nothing() -> None:
    """An honest report stays first; gamed ones earn less than by the checklist alone."""
    honest, half, padded = sample(FOUNDED, BORN), sample(FOUNDED), sample(FOUNDED, BORN, OTHER, OTHER)
    group = [honest, half, padded, sample("I do not know.")]
    program, buffer = ResearchRubrics(), RubricBuffer(5)
    items = program.propose([(one, one.episode_return) for one in group])
    buffer.evolve([{item.name: program.share(item, one) for item in items} for one in group], items)
    values = [
        rubric_value(buffer.active, {item.name: program.share(item, one) for item in buffer.active}, own, 3.0)
        for one in group
        for own in [one.episode_return]
    ]
    assert 1.0 == values[0] > values[1] > values[2] > values[3] == 0.0
    assert {"Elder Yard | founder | Ada Holm", "repeating", "unconnected"} <= {item.name for item in buffer.active}


@given(st.lists(st.text(alphabet="-|[]ab12, \n\ud800→", max_size=80), min_size=1, max_size=3))
def test_any_report_is_measured(texts: list[str]) -> None:
    """Without an exception, each share between 0 and 1."""
    samples = [sample("Report.", text) for text in texts]
    program = ResearchRubrics()
    for item in program.propose([(one, one.episode_return) for one in samples]):
        assert all(0.0 <= program.share(item, one) <= 1.0 for one in samples)
