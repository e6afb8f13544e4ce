"""Ratings of policies that met in games: known strengths come back, intervals cover, seats give nothing away."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem.core import Info
from gem.errors import ArgumentError
from gem.policies import Policy
from gem_cli.main import cli
from gem_eval.runs import EpisodeRow, EvaluationConfig, EvaluationConfigError, evaluate_sync
from gem_eval.statistics import PlayedGame, games_of, rate_policies
from gem_eval.statistics.ratings import ELO_MEAN, ELO_SCALE
from gem_rollout import Seating, rollout

TRUE = {"weak": -1.2, "middling": -0.1, "good": 0.3, "strong": 1.0}


def league(seed: int, groups: int, first_mover: float = 0.0, rotated: bool = True) -> list[PlayedGame]:
    """Return games of two whose results follow from the strengths, and from having the first seat."""
    rng = random.Random(seed)
    names, games = list(TRUE), []
    for group in range(groups):
        one, other = rng.sample(names, 2) if rotated else sorted(rng.sample(names, 2))
        luck = rng.random()  # of the task, which both games of a seed share
        for repetition in range(2 if rotated else 1):
            pair = (one, other) if repetition == 0 else (other, one)
            edge = TRUE[pair[0]] - TRUE[pair[1]] + first_mover
            chance = luck if rng.random() < 0.5 else rng.random()
            won = chance < 1 / (1 + math.exp(-edge))
            games.append(PlayedGame(group, {"first": (pair[0], float(won)), "second": (pair[1], float(not won))}))
    return games


def covered(leagues: int, groups: int) -> float:
    """Return the share of intervals that hold the true rating, over simulated leagues."""
    hits = total = 0
    for seed in range(leagues):
        table = rate_policies(league(seed, groups), resamples=400)
        for one in table.ratings:
            hits += one.low <= ELO_MEAN + ELO_SCALE * TRUE[one.name] <= one.high
            total += 1
    return hits / total


def test_known_strengths_are_recovered_in_order() -> None:
    """From 500 pairs of games, to within 50 points; of smaller leagues most intervals hold the true ratings."""
    table = rate_policies(league(1, 500))
    assert [one.name for one in table.ratings] == sorted(TRUE, key=TRUE.__getitem__, reverse=True)
    for one in table.ratings:
        assert one.rating == pytest.approx(ELO_MEAN + ELO_SCALE * TRUE[one.name], abs=50)
        assert one.low < one.rating < one.high < one.low + 150
    assert covered(3, 60) >= 0.8
    assert (table.games, table.groups, table.one_sided) == (1000, 500, False)


@pytest.mark.nightly
def test_intervals_cover_the_true_ratings() -> None:
    """Nominally 95 %: of 400 leagues with 4 policies, between 91 and 98 %, of few and of many seeds."""
    for groups in (40, 120):
        assert 0.91 <= covered(400, groups) <= 0.98


def test_rotation_takes_the_first_movers_advantage_out_of_the_ratings() -> None:
    """With a large advantage, ratings of rotated games keep the true order and those of fixed seats do not."""
    rotated = rate_policies(league(2, 150, first_mover=3.0), resamples=100)
    assert [one.name for one in rotated.ratings] == sorted(TRUE, key=TRUE.__getitem__, reverse=True)
    assert rotated.seats["first"] > 0.8
    fixed = rate_policies(league(2, 150, first_mover=3.0, rotated=False), resamples=100)
    assert fixed.ratings[0].name == "good"  # the first name of the alphabet always begins


class First(Policy[Any, Any]):
    """Takes the whole heap of a Nim with one heap, which wins; only the first player gets to do it."""

    def act(self, observation: Any, info: Info) -> str:
        return f"\\boxed{{1 {observation.partition('Heap 1: ')[2].split()[0]}}}"


def test_in_a_game_that_the_first_player_wins_rotated_equals_are_equal() -> None:
    """In real games: fixed seats give the first policy every game, rotated ones give both the same rating."""
    from gem.registry import spec

    nim = spec("duel:Nim-v0").with_kwargs({"heaps": 1})
    pool = {"ann": lambda env, agent: First(), "bob": lambda env, agent: First()}
    games, left_out = games_of(rollout(nim, Seating(pool, "ann"), episodes=20, group=2))
    assert left_out == 0
    table = rate_policies(games)
    assert table.seats == {"first": 1.0, "second": 0.0}
    assert [one.rating for one in table.ratings] == pytest.approx([ELO_MEAN, ELO_MEAN])
    fixed = [PlayedGame(seed, {"first": ("ann", 1.0), "second": ("bob", -1.0)}) for seed in range(20)]
    ratings = {one.name: one.rating for one in rate_policies(fixed).ratings}
    assert ratings["ann"] > ratings["bob"] + 300


def test_a_game_of_several_is_a_game_of_each_two_and_one_policy_in_two_seats_says_nothing() -> None:
    """Counted by hand."""
    games = [PlayedGame(0, {"a": ("x", 3.0), "b": ("y", 1.0), "c": ("z", 1.0), "d": ("x", 0.0)})]
    counts = {one.name: (one.games, one.ahead, one.tied, one.behind) for one in rate_policies(games).ratings}
    assert counts == {"x": (1, 2, 0, 2), "y": (1, 1, 1, 1), "z": (1, 1, 1, 1)}


def test_a_record_without_a_loss_has_an_interval_that_shrinks_with_the_number_of_seeds() -> None:
    """It holds a rating below the fitted one, and with 100 seeds a higher one than with 5."""
    lows = []
    for groups in (5, 100):
        table = rate_policies(
            [PlayedGame(seed, {"a": ("x", 1.0), "b": ("y", 0.0)}) for seed in range(groups)], resamples=100
        )
        assert table.one_sided
        assert table.ratings[0].low < table.ratings[0].rating <= table.ratings[0].high
        lows.append(table.ratings[0].low)
    assert lows[0] < lows[1]
    assert lows[0] < ELO_MEAN + 100 < lows[1]


def test_no_games_give_no_ratings() -> None:
    """An empty table."""
    assert rate_policies([]).to_dict()["ratings"] == []


def test_gem_eval_plays_against_opponents_and_rates(tmp_path: Path) -> None:
    """The figures are the agent's own, the run says who its opponents were, and gem ratings reads it."""
    run = tmp_path / "run"
    command = ["eval", "duel:LiarsDice-v0-easy", "--agent", "reference", "--opponent", "random", "-n", "6", "-g", "3"]
    done = CliRunner().invoke(cli, [*command, "-o", str(run), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["summary"]["environments"][0]["mean_return"]["value"] > 0.3
    config = json.loads((run / "run.json").read_text())
    assert config["opponents"] == {"random": {"agent": "random"}}
    rated = CliRunner().invoke(cli, ["ratings", str(run), "--json"])
    assert rated.exit_code == 0, rated.output
    table = json.loads(rated.stdout)
    assert (table["games"], table["groups"], table["left_out"]) == (6, 2, 0)
    assert [one["name"] for one in table["ratings"]] == ["reference", "random"]
    assert "ahead by seat" in CliRunner().invoke(cli, ["ratings", str(run)]).output
    (tmp_path / "again").symlink_to(run)
    twice = CliRunner().invoke(cli, ["ratings", str(run), str(tmp_path / "again"), f"{run}/", "--json"])
    assert json.loads(twice.stdout) == table


def test_a_row_has_the_turns_and_the_return_of_the_evaluated_agent() -> None:
    """Also what it earned before it had a turn."""
    turns = [
        {"agent": agent, "reward": 1.0, "terminated": True, "truncated": False, "info": {"success": agent == "a"}}
        for agent in ("a", "b", "b")
    ]
    facts = {"seats": {"a": "x", "b": "y", "c": "z"}, "returns": {"a": 1.0, "b": 2.5, "c": 0.75}}
    before = {"c": {"reward": 0.75, "terminated": True, "truncated": False, "info": {"success": True}}}
    rows = {
        agent: EpisodeRow.of_record(
            {"transitions": turns, "metadata": {**facts, "evaluated": agent, "before_acting": before}}, 0, 0
        )
        for agent in "abc"
    }
    assert [(one.turns, one.episode_return, one.success) for one in rows.values()] == [
        (1, 1.0, True),
        (2, 2.5, False),
        (0, 0.75, True),
    ]


def test_opponents_of_a_configuration_have_settings_of_their_own(tmp_path: Path) -> None:
    """Unknown ones are refused, and so are players beside them."""
    config: dict[str, Any] = {"environment": ["duel:Nim-v0"], "agent": "reference", "episodes": 4, "group": 2}
    run = evaluate_sync({**config, "opponents": {"idle": {"agent": "null"}}}, out=tmp_path / "a")
    assert {row.episode_return for row in run.rows()} <= {0.0, 1.0}  # a player without a move forfeits
    with pytest.raises(EvaluationConfigError, match=r"opponents\.idle"):
        evaluate_sync({**config, "opponents": {"idle": {"agnet": "null"}}}, out=tmp_path / "b")
    with pytest.raises(EvaluationConfigError, match="exclude each other"):
        EvaluationConfig.from_dict({**config, "opponents": {"a": {}}, "players": {"first": {}}})


def test_files_without_seats_cannot_be_rated(tmp_path: Path) -> None:
    """The command says what records them."""
    out = tmp_path / "plain.jsonl"
    runner = CliRunner()
    assert runner.invoke(cli, ["rollout", "duel:Nim-v0", "--episodes", "2", "--out", str(out)]).exit_code == 0
    done = runner.invoke(cli, ["ratings", str(out)])
    assert done.exit_code != 0
    assert isinstance(done.exception, ArgumentError)
    assert "--opponent" in str(done.exception)
