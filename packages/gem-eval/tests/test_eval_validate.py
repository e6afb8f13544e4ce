"""``gem validate``: environments that tell agents apart, and those that do not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

import gem
from gem.env_spec import EnvSpec
from gem.errors import UnknownEnvironmentError
from gem_eval.cli.validate import validate_command
from gem_eval.runs.validation import environments_of, validate


class Coin(gem.Env[str, str]):
    """Pays for naming the side; ``fault`` plants a defect."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.side = self.rng.choice(["heads", "tails"])
        if self.fault == "raises" and self.rng.random() < 0.5:
            raise RuntimeError("the coin is lost")
        return f"Toss {self.rng.randrange(10**6)} shows {self.side}.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reward = float(action == self.side)
        if self.fault == "pays all":
            reward = 1.0
        elif self.fault == "pays none":
            reward = 0.0
        elif self.fault == "pays too much":
            reward *= 2
        elif self.fault == "pays silence" and not action:
            reward = 0.5
        return "", reward, True, False, {}

    def sample_random_action(self) -> str:
        if self.fault == "samples the answer":  # as question sets may: no defect
            return self.side
        return self.action_rng.choice(["heads", "tails"])


class CoinPolicy(gem.Policy[str, str]):
    """Reads the side off the observation."""

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return observation.rpartition(" ")[2].removesuffix(".")


def coin(fault: str = "", **values: Any) -> EnvSpec:
    """Return the spec of the coin with a planted defect."""
    spec = EnvSpec(
        id="test:Coin-v0",
        entry_point=Coin,
        kwargs={"fault": fault},
        turns="single",
        reward_range=(0.0, 1.0),
        reference_policy=f"{__name__}:CoinPolicy",
        thoughtless_share=0.7,
    )
    return replace(spec, **values)


@pytest.mark.parametrize("fault", ["", "samples the answer"])
def test_a_sound_environment_is_valid(fault: str) -> None:
    """The reference policy gets everything, silence nothing, chance something in between."""
    verdict = validate(coin(fault))
    assert verdict.problems == ()
    assert verdict.valid
    means = {agent: returns.mean for agent, returns in verdict.agents.items()}
    assert (means["reference"], means["null"]) == (1.0, 0.0)
    assert 0.0 < (means["random"] or 0.0) < 1.0


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("pays all", "the random policy earns as much as the reference policy"),
        ("pays none", "mean return is 0, and 1 is declared"),
        ("pays too much", r"a return of 2, and reward_range is \[0, 1\]"),
        ("pays silence", "says nothing got a return of 0.5, and 0 is declared"),
        ("raises", "episodes of the reference policy failed: .*the coin is lost"),
    ],
)
def test_a_planted_defect_is_named(fault: str, problem: str) -> None:
    """Each defect of the rewards makes the environment invalid, with a sentence that names it."""
    verdict = validate(coin(fault))
    assert not verdict.valid
    assert [text for text in verdict.problems if re.search(problem, text)]


def test_what_can_be_guessed_without_thought_is_named() -> None:
    """A coin is guessed half the time, which the default of 0.4 forbids; and its question can be no copy."""
    verdict = validate(coin(thoughtless_share=None))
    assert [text for text in verdict.problems if re.search("earns 0.[3-6].* and thoughtless_share is 0.4", text)]
    assert verdict.thoughtless is not None
    assert verdict.thoughtless.rule == "constant"
    assert verdict.to_dict()["thoughtless"]["shares"]["a copy of the question"] == 0.0
    assert validate(coin("raises")).thoughtless is None


def test_what_is_not_declared_is_noted() -> None:
    """Without reference policy and range there is little to check, and the verdict says so."""
    verdict = validate(coin(reference_policy=None, reward_range=None))
    assert verdict.valid
    assert len(verdict.notes) == 2
    assert set(verdict.agents) == {"random", "null"}


def test_declared_returns_are_taken_into_account() -> None:
    """reference_return and null_return replace the ends of the range."""
    assert not validate(coin(reference_return=0.3)).valid
    assert not validate(coin(null_return=-1.0)).valid
    assert validate(coin(reward_range=(-1.0, 1.0), null_return=0.0)).valid


def test_targets_are_ids_namespaces_and_packages() -> None:
    """A namespace and the package that fills it name the same environments; what needs more is left out."""
    games, duels = environments_of(["game", "duel"])
    assert {spec.namespace for spec in games} == {"game"}
    assert {spec.namespace for spec in duels} == {"duel"}, "agents of one play no games for two"
    assert games == environments_of(["gem-envs-games"])[0] == environments_of(["gem_envs_games", "game"])[0]
    chosen, left_out = environments_of(["math"])
    assert chosen
    assert {spec.requires for spec in left_out} == {("dataset",)}
    assert environments_of(["math:GSM8K"])[0][0].id == "math:GSM8K"
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'game'"):
        environments_of(["gane"])


def test_the_command_prints_a_verdict_for_each() -> None:
    """A line for each id, the reasons below it, and an exit code that tells."""
    result = CliRunner().invoke(validate_command, ["game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy", "-n", "4"])
    assert result.exit_code == 0
    assert "2 of 2 environments are valid" in result.output
    gem.register("test:PaysAll-v0", Coin, fault="pays all")
    try:
        result = CliRunner().invoke(validate_command, ["test:PaysAll-v0", "-n", "4", "--json"])
    finally:
        gem.unregister("test:PaysAll-v0")
    (record,) = json.loads(result.output)["environments"]
    assert record["valid"]  # it declares nothing that could be wrong
    assert len(record["notes"]) == 2
