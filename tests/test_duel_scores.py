"""The tables of the games for several players in the README of gem-envs-games are what play gives."""

from __future__ import annotations

import re
from pathlib import Path

import duel_scores
import pytest
import seated_scores

import gem

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "packages" / "gem-envs-games" / "README.md").read_text(encoding="utf-8")
ROWS = [match[0] for match in re.finditer(r"^\| `duel:\S+`(?:, \w+=\d+)* \|(?: [^|]+ \|){7}\n", PAGE, re.MULTILINE)]


SIZES = [(env_id, size) for env_id, sizes in duel_scores.SIZES.items() for size in sizes]


def cells(env_id: str, size: dict[str, int]) -> list[str]:
    """Return the figures of a row."""
    return ROWS[SIZES.index((env_id, size))].replace("−", "-").strip("|\n ").split(" | ")[1:]


def returns(cell: str) -> tuple[float, float]:
    """Return the mean returns of both players."""
    first, _, second = cell.partition(" : ")
    return float(first), float(second)


def test_the_table_has_every_game_from_small_to_large() -> None:
    """Once each, its own size in the middle; writing the same rows again changes nothing."""
    duels = {spec.id for spec in gem.all_specs("duel")} - set(seated_scores.ids())
    assert list(duel_scores.SIZES) == sorted({one.removesuffix("-large") for one in duels})
    assert all(sizes[1] == {} and len(sizes) == 3 for sizes in duel_scores.SIZES.values())
    assert len(ROWS) == len(SIZES)
    assert duel_scores.TABLE.written(ROWS, PAGE) == PAGE


@pytest.mark.parametrize(
    ("env_id", "size"),
    [
        pytest.param(*one, marks=() if one == ("duel:Nim-v0", {"heaps": 2, "most": 4}) else pytest.mark.nightly)
        for one in SIZES
    ],
)
def test_a_row_is_what_fresh_play_gives(env_id: str, size: dict[str, int]) -> None:
    """Every figure of it, to the last digit."""
    assert duel_scores.row(env_id, size) == ROWS[SIZES.index((env_id, size))]


@pytest.mark.parametrize(("env_id", "size"), SIZES)
def test_skill_pays_on_either_side(env_id: str, size: dict[str, int]) -> None:
    """Against the same opponent, the reference policy earns more than chance; luck decides a single hand of poker."""
    random_random, random_reference, reference_random, both, *_ = map(returns, cells(env_id, size)[:4])
    slack = 0.12 if size == {"hands": 1} else 0.0
    assert random_reference[1] > random_random[1] - slack
    assert reference_random[0] > random_random[0] - slack
    assert both[0] > random_reference[0] - slack
    if env_id != "duel:Bargain-v0":
        assert all(first == -second for first, second in (random_random, random_reference, reference_random, both))


@pytest.mark.parametrize("env_id", ["duel:ConnectFour-v0", "duel:Nim-v0", "duel:Bargain-v0"])
def test_larger_games_leave_chance_less(env_id: str) -> None:
    """The lead of the reference policy over chance, from both sides, is least in the smallest game."""
    leads = []
    for size in duel_scores.SIZES[env_id]:
        (first, ahead), (leader, last) = (returns(cell) for cell in cells(env_id, size)[1:3])
        leads.append(round((ahead - first + leader - last) / 2, 2))
    assert leads[0] < min(leads[1:])


SEATED_ROWS = re.findall(r"^\| `duel:\S+` \| \d \|.+\n", PAGE, re.MULTILINE)


def test_the_table_of_larger_games_has_every_level() -> None:
    """In the order of the script; writing the same rows again changes nothing."""
    assert [row.split("`")[1] for row in SEATED_ROWS] == seated_scores.ids()
    assert seated_scores.TABLE.written(SEATED_ROWS, PAGE) == PAGE


@pytest.mark.parametrize(
    "env_id",
    [
        pytest.param(one, marks=() if one == "duel:Relay-v0-easy" else pytest.mark.nightly)
        for one in seated_scores.ids()
    ],
)
def test_a_row_of_a_larger_game_is_what_fresh_play_gives(env_id: str) -> None:
    """Every figure of it, to the last digit."""
    assert seated_scores.row(gem.spec(env_id)) in SEATED_ROWS
