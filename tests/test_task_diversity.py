"""What benchmarks/task_diversity.py counts."""

from __future__ import annotations

import re

import pytest
import task_diversity
from task_diversity import LAZY, Diversity, diversity_row, first_text, lazy_row

import gem


def texts(*questions: str) -> Diversity:
    """Return the counts of questions among many others, so that no name is in a tenth of them."""
    others = [f"Who is {chr(65 + number // 26)}{chr(97 + number % 26)}x with {number}?" for number in range(100)]
    return Diversity([*others, *questions])


def test_tasks_that_differ_in_names_alone_are_one_task() -> None:
    """In the order of the names too; another number or word makes another task, and only a word another form."""
    none = texts()
    assert (none.tasks, none.forms) == (100, 1)
    same = texts("Did Zoltan teach Marik 7 times?", "Did Berek teach Zoltan 7 times?")
    assert (same.tasks - none.tasks, same.forms - none.forms) == (1, 1)
    turned = texts("Did Zoltan teach Zoltan 7 times?", "Did Berek teach Zoltan 7 times?")
    assert (turned.tasks - none.tasks, turned.forms - none.forms) == (2, 1)
    number = texts("Did Zoltan teach Marik 7 times?", "Did Berek teach Zoltan 8 times?")
    assert (number.tasks - none.tasks, number.forms - none.forms) == (2, 1)
    word = texts("Did Zoltan teach Marik 7 times?", "Did Berek sue Zoltan 7 times?")
    assert (word.tasks - none.tasks, word.forms - none.forms) == (2, 2)


def test_a_word_that_every_task_has_is_no_name() -> None:
    """However it is written."""
    found = Diversity([f"Liar's Dice, {number} players" for number in range(50)])
    assert (found.tasks, found.forms, found.commonest, found.words) == (50, 1, 1.0, 3)


def test_ten_lazy_policies_are_played_in_games_of_one_and_of_several() -> None:
    """Silence forfeits one seat of a relay, and earns nothing in a game for one."""
    assert len(LAZY) == 10
    several, alone = (lazy_row(gem.spec(one), 2).split(" | ") for one in ("duel:Relay-v0-easy", "game:Hangman-v0-easy"))
    assert len(several) == len(alone) == 11
    assert several[1] == "−1.00"
    assert float(alone[1].replace("−", "-")) <= 0.0


def test_a_row_has_the_plan_of_the_reference_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the easiest relay always two steps."""
    monkeypatch.setattr(task_diversity, "PLANS", 5)
    assert diversity_row(gem.spec("duel:Relay-v0-easy"), 20).endswith(" | 2, 2, 2 |")


def test_tasks_in_pictures_are_counted_by_what_they_are_and_not_by_their_names() -> None:
    """Of a screen by the words on it, of a picture by question and structure; no name is among them."""
    with gem.make("web:Screen-v0-form-easy") as screen, gem.make("visual:Charts-v0-easy") as chart:
        assert len({first_text(screen, seed) for seed in range(5)}) == 5
        seen = [first_text(chart, seed) for seed in range(5)]
        assert first_text(chart, 0) == seen[0]
    assert len(set(seen)) == 5
    assert not any(re.search(r"(?!NAME)\b[A-Z]{3,}\b", text) for text in seen)
