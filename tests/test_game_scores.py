"""The table of difficulty in docs/games.md is what the games give when they are played."""

from __future__ import annotations

import re
from pathlib import Path

import game_scores
import pytest

import gem

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "games.md").read_text(encoding="utf-8")
SPECS = {spec.id: spec for spec in gem.all_specs("game")}
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `(game:\S+)` \|.*\n", PAGE, re.MULTILINE)}
CHEAP = (
    "game:FifteenPuzzle-v1-easy",
    "game:GuessTheNumber-v0-hard",
    "game:Minesweeper-v1-easy",
    "game:Sokoban-v1-easy",
    "game:TowerofHanoi-v0",
    "game:WikiGame-v0-hard",
)


def number(cell: str) -> tuple[float, float]:
    """Return the mean and the standard error in a cell."""
    mean, _, spread = cell.replace("−", "-").partition(" ± ")
    return float(mean), float(spread or 0.0005)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("env_id", [*CHEAP, *(pytest.param(i, marks=pytest.mark.nightly) for i in SPECS)])
def test_a_row_is_what_fresh_play_gives(env_id: str) -> None:
    """Every figure of it, to the last digit."""
    assert game_scores.row(SPECS[env_id]) == ROWS[env_id]


def test_the_table_has_every_variant_in_order() -> None:
    """Once each; writing the same rows again changes nothing."""
    assert list(ROWS) == list(SPECS)
    assert game_scores.TABLE.written(ROWS.values(), PAGE) == PAGE


@pytest.mark.parametrize("env_id", SPECS)
def test_the_table_agrees_with_the_manifest(env_id: str) -> None:
    """The reference policy earns the declared mean, silence the floor, and random moves less than the reference."""
    spec = SPECS[env_id]
    assert spec.reward_range is not None
    silence, chance, _, reference, *_ = ROWS[env_id].strip("|\n ").split(" | ")[1:]
    declared = spec.reward_range[1] if spec.reference_return is None else spec.reference_return
    mean, spread = number(reference)
    assert abs(mean - declared) <= 5 * spread
    assert number(silence)[0] == spec.reward_range[0]
    assert number(chance)[0] < mean


@pytest.mark.parametrize("env_id", [env_id for env_id in SPECS if "-v1" in env_id])
def test_the_reference_policy_wins_every_game_of_v1(env_id: str) -> None:
    """But for the highest target of 2048, where it loses a few."""
    *_, won, _ = ROWS[env_id].strip("|\n ").split(" | ")
    assert float(won.removesuffix(" %")) >= (95 if env_id.endswith("extreme-hard") else 100)
