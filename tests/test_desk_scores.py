"""The table in the README of gem-envs-desk is what play gives, and shows that the written policies matter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import desk_scores
import pytest

from gem_tools.postgres import PostgresError, require_postgres, stop_server

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "packages" / "gem-envs-desk" / "README.md").read_text(encoding="utf-8")
OTHERS = re.compile(r"<!-- results: .*?<!-- end of results -->", re.DOTALL)
"""Tables of result files, which have ids in their first column as well."""


SCORES = re.finditer(r"^\| `(\S+-v\d\S*)` \|(?: \S+ \|){5}\n", OTHERS.sub("", PAGE), re.MULTILINE)
ROWS = {match[1]: match[0] for match in SCORES}
SPEEDS = json.loads((ROOT / "benchmarks" / "results" / "desk_speed.json").read_text(encoding="utf-8"))["tables"]["1"]


def cells(line: str) -> list[str]:
    return line.strip("|\n ").split(" | ")[1:]


@pytest.mark.parametrize("env_id", ["desk:Tickets-v0", *(pytest.param(i, marks=pytest.mark.nightly) for i in ROWS)])
def test_a_row_is_what_fresh_play_gives(
    env_id: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every figure of it, to the last digit."""
    if not env_id.startswith("mcp:Postgres"):
        assert desk_scores.row(env_id) == ROWS[env_id]
        return
    try:
        require_postgres()
    except PostgresError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("GEM_POSTGRES_DIR", str(tmp_path_factory.mktemp("cluster")))
    try:
        assert desk_scores.row(env_id) == ROWS[env_id]
    finally:
        stop_server()


def test_the_tables_have_every_id() -> None:
    """Once each; writing the same rows again changes nothing."""
    assert tuple(ROWS) == desk_scores.IDS
    assert desk_scores.TABLE.written(ROWS.values(), PAGE) == PAGE
    assert [line[0].strip("`") for line in SPEEDS[1:]] == [*desk_scores.SPEED_IDS]


@pytest.mark.parametrize("env_id", ROWS)
def test_the_reference_wins_and_neither_silence_nor_chance_does(env_id: str) -> None:
    """A customer of a shop, an airline, a line or a library who is merely obeyed is often served wrongly."""
    silence, chance, obedient, reference, _ = cells(ROWS[env_id])
    assert (silence, reference) == ("0.00", "1.00")
    assert float(chance) <= 0.05
    if env_id.endswith("-attacked"):  # four of five tasks have something to refuse
        assert float(obedient) <= 0.3
    elif env_id.startswith(("desk:Retail", "desk:Airline", "desk:Telecom", "desk:Library")):
        assert float(obedient) <= 0.6
