"""The table in the README of gem-envs-craft is what play gives, and shows that depth makes the task harder."""

from __future__ import annotations

import re
from pathlib import Path

import craft_scores
import pytest

import gem

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "packages" / "gem-envs-craft" / "README.md").read_text(encoding="utf-8")
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `(craft:\S+)` \|.*\n", PAGE, re.MULTILINE)}
LEVELS = [env_id for env_id in ROWS if re.search(r"-d\d$", env_id)]


def scores(env_id: str) -> list[float]:
    return [float(cell) for cell in ROWS[env_id].strip("|\n ").split(" | ")[1:]]


@pytest.mark.parametrize("env_id", ["craft:Recipes-v0-d1", *(pytest.param(i, marks=pytest.mark.nightly) for i in ROWS)])
def test_a_row_is_what_fresh_play_gives(env_id: str) -> None:
    """Every figure of it, to the last digit."""
    assert craft_scores.row(gem.spec(env_id)) == ROWS[env_id]


def test_the_table_has_every_variant() -> None:
    """Once each; writing the same rows again changes nothing."""
    assert list(ROWS) == [*craft_scores.LEVELS, *craft_scores.OTHERS]
    assert {*ROWS, "craft:Recipes-v0"} == {spec.id for spec in gem.all_specs("craft") if "Recipes-" in spec.id}
    assert craft_scores.TABLE.written(ROWS.values(), PAGE) == PAGE


@pytest.mark.parametrize("env_id", ROWS)
def test_planning_wins_and_chance_does_not(env_id: str) -> None:
    """Silence earns 0, random commands below 0.2, plans everything."""
    silence, chance, eager, _, reference, *_ = scores(env_id)
    assert silence == 0.0
    assert chance < 0.2
    assert eager < 0.3
    assert reference == 1.0


def test_every_level_is_harder_than_the_one_before() -> None:
    """In a fixed number of turns neither chance nor plans do better; plans that do not count do worse in any."""
    table = [scores(env_id) for env_id in LEVELS]
    assert len(table) == 6
    _, chance, _, uncounting, _, turns, fixed_chance, fixed_reference = map(list, zip(*table, strict=True))
    for falling in (chance, fixed_chance, uncounting, fixed_reference):
        assert falling == sorted(falling, reverse=True)
    assert turns == sorted(set(turns))
    assert uncounting == sorted(set(uncounting), reverse=True)
    assert fixed_reference[-1] < 0.5 < fixed_reference[2] < 1
