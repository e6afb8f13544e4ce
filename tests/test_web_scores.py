"""The table in the README of gem-envs-web is what play gives, and shows that levels make the tasks harder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import web_scores

import gem

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "packages" / "gem-envs-web" / "README.md").read_text(encoding="utf-8")
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `(web:For\S+)` \| [\d.]+ \|.*\n", PAGE, re.MULTILINE)}


def scores(env_id: str) -> list[float]:
    return [float(cell) for cell in ROWS[env_id].strip("|\n ").split(" | ")[1:]]


@pytest.mark.nightly
@pytest.mark.parametrize("env_id", ROWS)
def test_a_row_is_what_fresh_play_gives(env_id: str) -> None:
    """Every figure of it, to the last digit."""
    assert web_scores.row(gem.spec(env_id)) == ROWS[env_id]


def test_the_table_has_every_level() -> None:
    """Once each; writing the same rows again changes nothing."""
    assert tuple(ROWS) == web_scores.IDS
    assert web_scores.TABLE.written(ROWS.values(), PAGE) == PAGE


@pytest.mark.parametrize("env_id", ROWS)
def test_the_reference_wins_and_chance_does_not(env_id: str) -> None:
    """Silence and chance earn nothing."""
    silence, chance, unskilled, reference, *_ = scores(env_id)
    assert (silence, reference) == (0.0, 1.0)
    assert chance < 0.02
    assert unskilled < 0.2 or env_id.endswith("-easy")


@pytest.mark.parametrize("world", ["Form", "Forum"])
def test_every_level_is_harder_than_the_one_before(world: str) -> None:
    """In a fixed number of turns neither chance nor the reference does better."""
    table = [scores(env_id) for env_id in ROWS if f":{world}-" in env_id]
    assert len(table) == 3
    for column in (-2, -1):
        assert [row[column] for row in table] == sorted((row[column] for row in table), reverse=True)
    assert table[0][-1] > table[1][-1] > table[2][-1]
