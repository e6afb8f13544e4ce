"""The bandits: payoffs by the stated rules, and optima that other computations confirm."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import pytest

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_grid.bandits.lucky_arm import LuckyArmEnv, LuckyArmPolicy, lucky_arm_optimum
from gem_envs_grid.bandits.two_armed import TwoArmedEnv

LEVELS = ("level1", "level2", "level3")


def best_of_all_strategies(arms: int, lucky: float, unlucky: float, pulls: int) -> float:
    """The highest expected number of payoffs, by trying every arm in every position, arms told apart."""

    @cache
    def value(records: tuple[tuple[int, int], ...]) -> float:
        left = pulls - sum(map(sum, records))
        if not left:
            return 0.0
        weights = []
        for one in range(arms):
            chances = [lucky if other == one else unlucky for other in range(arms)]
            weights.append(
                math.prod(p**paid * (1 - p) ** unpaid for p, (paid, unpaid) in zip(chances, records, strict=True))
            )
        best = 0.0
        for arm, (paid, unpaid) in enumerate(records):
            belief = weights[arm] / sum(weights)
            pays = belief * lucky + (1 - belief) * unlucky
            won = value((*records[:arm], (paid + 1, unpaid), *records[arm + 1 :]))
            lost = value((*records[:arm], (paid, unpaid + 1), *records[arm + 1 :]))
            best = max(best, pays * (1 + won) + (1 - pays) * lost)
        return best

    return value(((0, 0),) * arms)


@pytest.mark.parametrize(
    ("arms", "lucky", "unlucky", "pulls"), [(2, 0.9, 0.1, 7), (3, 0.7, 0.08, 5), (3, 0.9, 0.6, 5), (4, 0.5, 0.4, 4)]
)
def test_the_most_likely_arm_is_the_best_choice(arms: int, lucky: float, unlucky: float, pulls: int) -> None:
    """No strategy earns more than the one whose value is stated: dynamic programming over all of them agrees."""
    stated = lucky_arm_optimum(arms, lucky, unlucky, pulls) * pulls
    assert stated == pytest.approx(best_of_all_strategies(arms, lucky, unlucky, pulls), abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_the_manifest_states_the_exact_optimum(level: str) -> None:
    """To four digits."""
    spec = gem.spec(f"bandit:LuckyArm-v0-{level}")
    kwargs = spec.kwargs
    optimum = lucky_arm_optimum(kwargs["arms"], kwargs["lucky"], kwargs["unlucky"], 20)
    assert spec.reference_return == pytest.approx(optimum, abs=5e-5)


def test_the_reference_policy_pulls_the_most_likely_arm() -> None:
    """In each turn, by the likelihoods of the state's own tallies."""
    env = LuckyArmEnv(arms=4, lucky=0.7, unlucky=0.3, tally=False)
    policy = LuckyArmPolicy()
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        over = False
        while not over:
            score = [
                paid * math.log(0.7 / 0.3) + (pulls - paid) * math.log(0.3 / 0.7)
                for pulls, paid in zip(env.pulls, env.payoffs, strict=True)
            ]
            action = policy.act(observation, info)
            chosen = env.names.index(action.removeprefix("\\boxed{").removesuffix("}"))
            assert score[chosen] == pytest.approx(max(score))
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated


def test_arms_pay_as_often_as_stated() -> None:
    """Over many pulls, within five standard errors."""
    env = LuckyArmEnv(arms=3, lucky=0.8, unlucky=0.2, max_turns=1000)
    for seed, lucky in product(range(3), (True, False)):
        env.reset(seed=seed)
        arm = env.lucky_arm if lucky else (env.lucky_arm + 1) % 3
        for _ in range(1000):
            env.step(f"\\boxed{{{env.names[arm]}}}")
        share = env.payoffs[arm] / 1000
        assert abs(share - (0.8 if lucky else 0.2)) < 5 * math.sqrt(0.16 / 1000)


def test_without_a_tally_only_the_last_payoff_is_told() -> None:
    """The names stand in the first observation alone."""
    env = LuckyArmEnv(tally=False)
    env.reset(seed=1)
    first, second, *_ = env.names
    env.step(f"\\boxed{{{first}}}")
    observation, *_ = env.step(f"\\boxed{{{second}}}")
    assert first not in observation
    assert "of 1" not in observation


def test_a_tally_counts_points_and_pulls() -> None:
    """Each arm's own."""
    env = LuckyArmEnv(arms=2, lucky=0.99, unlucky=0.01)
    env.reset(seed=4)
    lucky = env.names[env.lucky_arm]
    for _ in range(3):
        observation, reward, *_ = env.step(f"\\boxed{{{lucky}}}")
    assert f"{lucky} 3 of 3" in observation
    assert reward == pytest.approx(1 / 20)


def test_impossible_arguments_and_states_are_refused() -> None:
    """The message has the value."""
    with pytest.raises(ArgumentError, match=r"below lucky = 0\.3, got 0\.5"):
        LuckyArmEnv(lucky=0.3, unlucky=0.5)
    env = LuckyArmEnv(arms=3)
    env.reset(seed=0)
    state = env.get_state()
    for field, value in (
        ("names", ["amber", "amber", "aster"]),
        ("pulls", [0, 0]),
        ("lucky_arm", 3),
        ("payoffs", [1, 0, 0]),
    ):
        with pytest.raises(StateError):
            env.set_state({**state, "episode": {**state["episode"], field: value}})


def test_the_steady_arm_always_pays_a_tenth_and_the_risky_one_a_quarter_of_the_time() -> None:
    """RAGEN's numbers; the optimum is the mean of the risky arm."""
    env = TwoArmedEnv()
    assert env.optimum == 0.25
    payoffs = {"phoenix": [], "dragon": []}
    for seed in range(800):
        for name, paid in payoffs.items():
            env.reset(seed=seed)
            paid.append(env.step(f"\\boxed{{{name}}}")[1])
    assert set(payoffs["phoenix"]) == {0.1}
    assert set(payoffs["dragon"]) == {0.0, 1.0}
    assert abs(math.fsum(payoffs["dragon"]) / 800 - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 800)


def test_reversed_names_change_the_payoffs_and_not_the_prompt() -> None:
    """So an agent that learned the names' meaning is wrong there."""
    plain, turned = TwoArmedEnv(), TwoArmedEnv(reverse=True)
    prompts = [{env.reset(seed=seed)[0] for seed in range(20)} for env in (plain, turned)]
    assert prompts[0] == prompts[1]
    assert len(prompts[0]) == 2
    assert (plain.best, turned.best) == ("dragon", "phoenix")
    turned.reset(seed=0)
    assert turned.step("\\boxed{dragon}")[1] == 0.1


@pytest.mark.parametrize("names", [("same", "Same"), ("two words", "one"), ("a",), "ab"])
def test_names_must_be_two_different_words(names: object) -> None:
    """Otherwise an action could not tell them apart."""
    with pytest.raises((ArgumentError, TypeError), match="names"):
        TwoArmedEnv(names=names)  # type: ignore[arg-type]
