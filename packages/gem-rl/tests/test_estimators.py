"""The estimators against hand-worked numbers and an independent exact computation."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slow_estimators as slow
from hypothesis import given
from hypothesis import strategies as st

import gem_rl
from gem.errors import ArgumentError
from gem_rl import TurnBatch

EPSILON = Fraction(1, 2**27)  # about 1e-8, and the same number in both computations
TWO_GROUPS = TurnBatch.of([1, 0, 2, 0, 3, 5], [2, 1, 0, 3], groups=["a", "a", "b", "b"])
"""Returns 1, 2 | 0, 8."""

# Binary fractions, so that both computations see the same numbers; thirds and tenths come from gamma.
numbers = st.integers(-64, 64).map(lambda count: Fraction(count, 8))
shares = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(9, 10), Fraction(1)])
episodes = st.lists(
    st.fixed_dictionaries(
        {
            "rewards": st.lists(numbers, max_size=5),
            "group": st.integers(0, 2),
            "task": st.integers(0, 1),
            "terminated": st.booleans(),
            "valid": st.booleans(),
        }
    ),
    max_size=6,
)


def batch_of(found: list[dict[str, Any]]) -> TurnBatch:
    """Return the batch of drawn episodes; a group never spans two tasks."""
    for episode in found:
        episode["group"] = (episode["task"], episode["group"])
    return TurnBatch.of(
        [float(reward) for episode in found for reward in episode["rewards"]],
        [len(episode["rewards"]) for episode in found],
        terminated=[episode["terminated"] for episode in found] or None,
        groups=[episode["group"] for episode in found],
        tasks=[episode["task"] for episode in found],
        valid=[episode["valid"] for episode in found] or None,
    )


def agree(fast: np.ndarray[Any, Any], exact: list[float]) -> None:
    """Require equal values to 1e-12, of the size of the largest."""
    assert fast.dtype == np.float64
    assert fast.shape == (len(exact),)
    np.testing.assert_allclose(fast, exact, rtol=1e-12, atol=1e-12)


@given(episodes, shares)
def test_returns_agree_with_the_definition(found: list[dict[str, Any]], gamma: Fraction) -> None:
    """G_t is the discounted sum of what follows within the episode, over any ragged batch."""
    exact = [float(value) for episode in found for value in slow.returns(episode, gamma)]
    agree(gem_rl.discounted_returns(batch_of(found), float(gamma)), exact)


@given(episodes, shares)
def test_batch_wide_estimators_agree(found: list[dict[str, Any]], gamma: Fraction) -> None:
    """ReBN and REINFORCE equal their formulas."""
    batch = batch_of(found)
    agree(gem_rl.rebn(batch, float(gamma), epsilon=float(EPSILON)), slow.rebn(found, gamma, EPSILON))
    exact = slow.by_turn(found, lambda episode, turn: slow.returns(episode, gamma)[turn] - Fraction(1, 2))
    agree(gem_rl.reinforce(batch, float(gamma), baseline=0.5), exact)


@given(episodes)
def test_group_estimators_agree(found: list[dict[str, Any]]) -> None:
    """GRPO with and without the standard deviation, RLOO and ERPO equal their formulas."""
    batch, epsilon = batch_of(found), float(EPSILON)
    agree(gem_rl.grpo(batch, epsilon=epsilon), slow.grpo(found, EPSILON))
    agree(gem_rl.grpo(batch, epsilon=epsilon, ddof=1), slow.grpo(found, EPSILON, ddof=1))
    agree(gem_rl.grpo(batch, normalize="none"), slow.grpo(found, EPSILON, scaled=False))
    agree(gem_rl.rloo(batch), slow.rloo(found))
    agree(gem_rl.erpo(batch, epsilon=epsilon), slow.erpo(found, EPSILON))


@given(episodes, shares, shares, st.data())
def test_gae_agrees(found: list[dict[str, Any]], gamma: Fraction, lam: Fraction, data: st.DataObject) -> None:
    """Advantages bootstrap after truncation alone, and never across episodes; targets are advantages and values."""
    values = [data.draw(st.lists(numbers, min_size=len(one["rewards"]), max_size=len(one["rewards"]))) for one in found]
    final = data.draw(st.lists(numbers, min_size=len(found), max_size=len(found)))
    flat = [float(value) for row in values for value in row]
    result = gem_rl.gae(batch_of(found), flat, [float(value) for value in final], float(gamma), float(lam))
    agree(result.advantages, slow.gae(found, values, final, gamma, lam))
    np.testing.assert_array_equal(result.returns, result.advantages + flat)


@given(episodes, shares, st.data())
def test_gigpo_agrees(found: list[dict[str, Any]], gamma: Fraction, data: st.DataObject) -> None:
    """The second part compares turns of one group that began in the same state."""
    states = [
        data.draw(st.lists(st.integers(0, 2), min_size=len(one["rewards"]), max_size=len(one["rewards"])))
        for one in found
    ]
    batch = batch_of(found)
    fast = gem_rl.gigpo(
        batch, [seen for row in states for seen in row], float(gamma), weight=0.5, epsilon=float(EPSILON)
    )
    agree(fast, slow.gigpo(found, states, gamma, Fraction(1, 2), EPSILON))


def test_gigpo_of_different_states_is_grpo() -> None:
    """Without a repeated state nothing is added."""
    np.testing.assert_array_equal(gem_rl.gigpo(TWO_GROUPS, range(6)), gem_rl.grpo(TWO_GROUPS))


def test_worked_returns() -> None:
    """By hand, with γ = 1/2: 1 + 0/2; 2; and 0 + 3/2 + 5/4."""
    np.testing.assert_array_equal(gem_rl.discounted_returns(TWO_GROUPS, 0.5), [1, 0, 2, 2.75, 5.5, 5])


def test_worked_rebn() -> None:
    """By hand: the returns 1, 3 and 2 have the mean 2 and the deviation √(2/3)."""
    root = (2 / 3) ** 0.5
    np.testing.assert_allclose(gem_rl.rebn(TurnBatch.of([1, 3, 2], [1, 1, 1]), epsilon=0.0), [-1 / root, 1 / root, 0])


def test_worked_groups() -> None:
    """By hand: group a has returns 1 and 2, group b 0 and 8; the episode without turns still counts in its group."""
    np.testing.assert_allclose(gem_rl.grpo(TWO_GROUPS, epsilon=0.0), [-1, -1, 1, 1, 1, 1])
    np.testing.assert_allclose(gem_rl.grpo(TWO_GROUPS, normalize="none"), [-0.5, -0.5, 0.5, 4, 4, 4])
    np.testing.assert_allclose(gem_rl.rloo(TWO_GROUPS), [-1, -1, 1, 8, 8, 8])
    whole = np.std([1, 2, 0, 8])
    np.testing.assert_allclose(gem_rl.erpo(TWO_GROUPS, epsilon=0.0), np.array([-0.5, -0.5, 0.5, 4, 4, 4]) / whole)


def test_worked_gae() -> None:
    """By hand, γ = 1, λ = 1/2: two turns worth 1 and 2; the end is worth 4 unless the episode terminated."""
    cut, ended = (TurnBatch.of([1.0, 0.0], [2], terminated=[flag]) for flag in (False, True))
    # δ = 1 + 2 − 1 = 2 and 0 + 4 − 2 = 2, or 0 + 0 − 2 = −2.
    np.testing.assert_array_equal(gem_rl.gae(cut, [1, 2], [4], 1.0, 0.5).advantages, [3, 2])
    np.testing.assert_array_equal(gem_rl.gae(ended, [1, 2], [4], 1.0, 0.5).advantages, [1, -2])


def test_worked_reinforce_plus_plus() -> None:
    """By hand: one episode of two tokens and one of one; the penalty of a token also lowers what comes before it."""
    batch = TurnBatch.of([1.0, 0.0], [1, 1])
    # Returns with β = 1: [1 − 0.25 − 0.25, 1 − 0.25, −0.5] = [0.5, 0.75, −0.5].
    returns = np.array([0.5, 0.75, -0.5])
    expected = (returns - returns.mean()) / returns.std()
    found = gem_rl.reinforce_plus_plus(batch, [2, 1], [0.25, 0.25, 0.5], beta=1.0, epsilon=0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_worked_task_normalization() -> None:
    """By hand: a turn of three tokens counts three times, and tasks do not mix."""
    batch = TurnBatch.of([0, 0, 0, 0], [2, 2], tasks=["x", "y"])
    found = gem_rl.normalize_by_task(batch, [1.0, 5.0, 100.0, 300.0], [3, 1, 1, 1], epsilon=0.0)
    root = 3**0.5  # mean 2, variance (3·1 + 9) / 4 = 3
    np.testing.assert_allclose(found, [-1 / root, 3 / root, -1, 1])


def test_a_group_too_small_for_its_deviation_teaches_nothing() -> None:
    """As few values as the deviation's divisor leaves out have no deviation."""
    batch = TurnBatch.of([0.0, 2.0, 1.0], [1] * 3, groups=[0, 0, 1])
    assert gem_rl.grpo(batch, ddof=2).tolist() == [0.0, 0.0, 0.0]
    assert gem_rl.grpo(batch, ddof=1, epsilon=0.0).tolist() == pytest.approx([-(2**-0.5), 2**-0.5, 0.0])


def test_a_turn_without_tokens_is_in_no_task() -> None:
    """Nothing was sampled in it, so that it neither counts nor gets an advantage."""
    batch = TurnBatch.of([0.0] * 3, [1] * 3)
    found = gem_rl.normalize_by_task(batch, [1.0, 3.0, 50.0], [1, 1, 0], epsilon=0.0)
    assert found.tolist() == [-1.0, 1.0, 0.0]


@given(episodes, st.data())
def test_each_task_has_zero_mean_and_unit_variance(found: list[dict[str, Any]], data: st.DataObject) -> None:
    """Over the tokens of its valid episodes, unless they are all equal."""
    batch = batch_of(found)
    counts = data.draw(st.lists(st.integers(0, 4), min_size=batch.turns, max_size=batch.turns))
    values = data.draw(st.lists(numbers.map(float), min_size=batch.turns, max_size=batch.turns))
    normal = gem_rl.normalize_by_task(batch, values, np.array(counts, dtype=int), epsilon=0.0)
    tokens, old = np.repeat(normal, counts), np.repeat(values, counts)
    tasks: Any = np.repeat(batch.tasks[batch.episode_of_turn], counts)
    valid: Any = np.repeat(batch.valid_turns, counts)
    assert not tokens[~valid].any()
    for task in set(tasks[valid]):
        chosen = tokens[valid & (tasks == task)]
        if np.ptp(old[valid & (tasks == task)]) > 0:
            assert abs(chosen.mean()) < 1e-12
            assert abs(chosen.var() - 1) < 1e-12
        else:
            assert not chosen.any()


ESTIMATORS: dict[str, Callable[[TurnBatch], Any]] = {
    "rebn": gem_rl.rebn,
    "grpo": gem_rl.grpo,
    "grpo-centered": lambda batch: gem_rl.grpo(batch, normalize="none"),
    "rloo": gem_rl.rloo,
    "erpo": gem_rl.erpo,
    "gigpo": lambda batch: gem_rl.gigpo(batch, [0] * batch.turns),
    "by-task": lambda batch: gem_rl.normalize_by_task(batch, gem_rl.reinforce(batch)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("value", [0.1, -0.3, 1e9 / 3, 1e-300])
def test_equal_returns_teach_nothing(name: str, value: float) -> None:
    """Not even the rounding error of a mean is left."""
    batch = TurnBatch.of([value] * 7, [1] * 7, groups=[0] * 7)
    np.testing.assert_array_equal(ESTIMATORS[name](batch), np.zeros(7))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [1], [3]], ids=str)
def test_empty_and_single_episodes(name: str, lengths: list[int]) -> None:
    """They have the shape of their turns, and finite advantages."""
    batch = TurnBatch.of(np.arange(sum(lengths), dtype=float), lengths)
    found = ESTIMATORS[name](batch)
    assert found.shape == (sum(lengths),)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_invalid_episodes_touch_nobody(name: str) -> None:
    """Their advantages are 0, and the others are as without them."""
    rewards, lengths, groups = [1.0, 2.0, 4.0, 8.0], [1, 1, 1, 1], [0, 0, 0, 0]
    found = ESTIMATORS[name](TurnBatch.of(rewards, lengths, groups=groups, valid=[True, True, False, True]))
    without = ESTIMATORS[name](TurnBatch.of([1.0, 2.0, 8.0], [1, 1, 1], groups=[0, 0, 0]))
    np.testing.assert_allclose(found, [without[0], without[1], 0.0, without[2]])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_no_number_is_refused(bad: float) -> None:
    """The message names its place; nothing spreads it over a batch."""
    with pytest.raises(ArgumentError, match=r"rewards\[1\] is (nan|inf|-inf), and must be finite"):
        TurnBatch.of([0.0, bad], [2])
    with pytest.raises(ArgumentError, match=r"values\[0\]"):
        gem_rl.gae(TurnBatch.of([0.0], [1]), [bad], [0.0])
    with pytest.raises(ArgumentError, match="advantages"):
        gem_rl.normalize_by_task(TurnBatch.of([0.0], [1]), [bad])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TurnBatch.of([1.0], [2]), "lengths add up to 2 turns, and there are 1 rewards"),
        (lambda: TurnBatch.of([1.0], [2, -1]), "integers ≥ 0"),
        (lambda: TurnBatch.of([1.0], [1.0]), "integers ≥ 0"),  # type: ignore[list-item]
        (lambda: TurnBatch.of([[1.0]], [1]), "one dimension"),
        (lambda: TurnBatch.of(["much"], [1]), "list of numbers"),
        (lambda: TurnBatch.of([1.0], [1], groups=[1, 2]), "groups must have 1 values"),
        (lambda: TurnBatch.of([1.0], [1], terminated=[1]), "terminated must be 1 booleans"),
        (lambda: gem_rl.discounted_returns(TWO_GROUPS, 1.5), "gamma must be a number from 0 to 1, got 1.5"),
        (lambda: gem_rl.gae(TWO_GROUPS, [0] * 6, [0] * 4, lam=-1), "lam must be a number from 0 to 1"),
        (lambda: gem_rl.gae(TWO_GROUPS, [0] * 5, [0] * 4), "values must have 6 values, got 5"),
        (lambda: gem_rl.gigpo(TWO_GROUPS, []), "states must have 6 values"),
        (lambda: gem_rl.grpo(TWO_GROUPS, normalize="batch"), "'group' or 'none'"),  # type: ignore[arg-type]
        (lambda: gem_rl.as_tokens(TWO_GROUPS, [1, 1, 1, 1, 1, -1]), "at least 0, got -1"),
        (lambda: gem_rl.loss_weights(TWO_GROUPS, [1] * 6, "mean"), "how must be one of token-mean"),  # type: ignore[arg-type]
        (lambda: gem_rl.loss_weights(TWO_GROUPS, [1] * 6, "constant"), "a positive constant"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[], Any], message: str) -> None:
    """The error says the rule and the value."""
    with pytest.raises(ArgumentError, match=message):
        make()


def test_views_of_an_action() -> None:
    """A token, a response and the whole interaction, by hand."""
    counts = [2, 1, 1, 3, 1, 2]
    tokens = gem_rl.as_tokens(TWO_GROUPS, counts)
    np.testing.assert_array_equal(tokens.rewards, [0, 1, 0, 2, 0, 0, 0, 3, 0, 5])
    np.testing.assert_array_equal(tokens.lengths, [3, 1, 0, 6])
    whole = gem_rl.as_interactions(TWO_GROUPS)
    np.testing.assert_array_equal(whole.rewards, [1, 2, 8])
    np.testing.assert_array_equal(whole.lengths, [1, 1, 0, 1])
    # Without discount, what a token earns in the end is the same in all views.
    returns = gem_rl.discounted_returns(TWO_GROUPS)
    np.testing.assert_array_equal(
        gem_rl.discounted_returns(tokens), gem_rl.spread_to_tokens(TWO_GROUPS, returns, counts)
    )
    of_episodes = gem_rl.discounted_returns(whole)
    np.testing.assert_array_equal(
        gem_rl.spread_to_tokens(TWO_GROUPS, of_episodes, counts), [1, 1, 1, 2, 8, 8, 8, 8, 8, 8]
    )


def test_a_response_without_tokens_pays_at_its_neighbours() -> None:
    """At the token before it, at the next one where the episode has none yet; an episode of none is not valid."""
    tokens = gem_rl.as_tokens(TWO_GROUPS, [2, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(tokens.rewards, [0, 1, 3, 0, 5])
    np.testing.assert_array_equal(tokens.lengths, [2, 0, 0, 3])
    np.testing.assert_array_equal(tokens.valid, TWO_GROUPS.valid & [True, False, True, True])
    found = gem_rl.reinforce_plus_plus(TWO_GROUPS, [2, 0, 0, 0, 1, 2], np.zeros(5), epsilon=0.0)
    of_tokens = np.array([1, 1, 8, 5, 5])
    np.testing.assert_allclose(found, (of_tokens - of_tokens.mean()) / of_tokens.std())


def test_loss_weights() -> None:
    """By hand: two episodes with three and one tokens; each weighting adds up as its formula says."""
    batch = TurnBatch.of([0, 0, 0, 9], [2, 1, 1], valid=[True, True, False])
    counts = [2, 1, 1, 5]
    nothing = [0.0] * 5
    np.testing.assert_allclose(gem_rl.loss_weights(batch, counts), [0.25] * 4 + nothing)
    np.testing.assert_allclose(gem_rl.loss_weights(batch, counts, "turn-mean"), [1 / 6, 1 / 6, 1 / 3, 1 / 3, *nothing])
    np.testing.assert_allclose(
        gem_rl.loss_weights(batch, counts, "episode-mean"), [1 / 6, 1 / 6, 1 / 6, 1 / 2, *nothing]
    )
    np.testing.assert_allclose(gem_rl.loss_weights(batch, counts, "constant", constant=10), [0.05] * 4 + nothing)


def seconds(turns: int) -> float:
    """Return the CPU seconds of all estimators on a ragged batch of so many turns."""
    rng = np.random.default_rng(0)
    lengths = rng.multinomial(turns, rng.dirichlet(np.ones(turns // 20)))
    rewards = rng.normal(size=turns)
    batch = TurnBatch.of(rewards, lengths, groups=(np.arange(lengths.size) // 8).tolist())
    start = time.process_time()
    for estimate in ESTIMATORS.values():
        estimate(batch)
    gem_rl.gae(batch, rewards, np.zeros(lengths.size))
    return time.process_time() - start


@pytest.mark.slow
def test_the_cost_grows_linearly() -> None:
    """Ten times the turns cost no more than 20 times as much; the best of three, as other processes disturb."""
    small, large = (min(seconds(turns) for _ in range(3)) for turns in (20_000, 200_000))
    assert large < 20 * small
