"""Importance weights, decoupled PPO and figures of mismatch, against hand-worked examples and plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_rl import importance_weights, logprobs_at, measure_mismatch, surrogate_losses

logprobs = st.floats(-6.0, 0.0)
sequences = st.lists(st.lists(st.tuples(logprobs, logprobs), max_size=4), min_size=1, max_size=4)


def columns(batch: list[list[tuple[float, float]]]) -> tuple[list[float], list[float], list[int]]:
    pairs = [pair for sequence in batch for pair in sequence]
    return [one for one, _ in pairs], [other for _, other in pairs], [len(sequence) for sequence in batch]


def test_weights_of_a_worked_example() -> None:
    """Two sequences: ratios 2, 1/2, 4 and 1/4; bounds of 1/2 and 3."""
    sampler = np.log([0.25, 0.5, 0.125, 0.5])
    learner = np.log([0.5, 0.25, 0.5, 0.125])
    options: dict[str, Any] = {"lengths": [3, 1], "upper": 3.0}
    found = {level: importance_weights(learner, sampler, level=level, **options) for level in ("token", "sequence")}
    np.testing.assert_allclose(found["token"], [2.0, 0.5, 3.0, 0.25])
    np.testing.assert_allclose(found["sequence"], [3.0, 3.0, 3.0, 0.25])
    geometric = importance_weights(learner, sampler, level="geometric", **options)
    np.testing.assert_allclose(geometric, [4 ** (1 / 3)] * 3 + [0.25])
    masked = importance_weights(learner, sampler, lower=0.5, outside="mask", **options)
    np.testing.assert_allclose(masked, [2.0, 0.5, 0.0, 0.0])
    both = importance_weights(learner, sampler, lower=0.5, **options)
    np.testing.assert_allclose(both, [2.0, 0.5, 3.0, 0.5])


@given(sequences, st.sampled_from(["token", "sequence", "geometric"]), st.booleans())
def test_weights_are_those_of_plain_loops(batch: list[list[tuple[float, float]]], level: Any, masks: bool) -> None:
    """Each sequence alone gives what it gives among others."""
    learner, sampler, lengths = columns(batch)
    outside: Any = "mask" if masks else "truncate"
    found = importance_weights(learner, sampler, lengths, level=level, upper=2.0, lower=0.5, outside=outside)
    expected = []
    for sequence in batch:
        ratios = [math.exp(one - other) for one, other in sequence]
        whole = math.prod(ratios) if level == "sequence" else math.prod(ratios) ** (1 / max(1, len(ratios)))
        for ratio in ratios:
            weight = ratio if level == "token" else whole
            kept = weight if 0.5 <= weight <= 2.0 else 0.0
            expected.append(kept if masks else min(max(weight, 0.5), 2.0))
    near = [abs(weight - bound) < 1e-9 for weight in found for bound in (0.5, 2.0)]
    if not (masks and any(near)):  # rounding decides on which side of a bound a weight lies
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_decoupled_ppo_of_a_worked_example() -> None:
    """Old tokens are weighted, and clipped by the step alone: r = 1.5, 1.5, 0.5, 0.5 with clip 0.2, w = 2, 1, 1, 3."""
    sampler = np.log([0.1, 0.2, 0.2, 0.1])
    proximal = np.log([0.2, 0.2, 0.2, 0.4])
    new = np.log([0.3, 0.3, 0.1, 0.2])
    losses = surrogate_losses(new, proximal, sampler, [1.0, -1.0, 1.0, -1.0], upper=3.0)
    np.testing.assert_allclose(losses, [-2 * 1.2, 1.5, -0.5, 3 * 0.8])
    higher = surrogate_losses(new, proximal, sampler, [1.0, -1.0, 1.0, -1.0], upper=3.0, clip_higher=0.3)
    np.testing.assert_allclose(higher, [-2 * 1.3, 1.5, -0.5, 3 * 0.8])


@given(sequences.filter(lambda batch: any(batch)))
def test_with_one_old_policy_it_is_ppo(batch: list[list[tuple[float, float]]]) -> None:
    """The clipped surrogate of PPO (arXiv 1707.06347), equation 7, token by token."""
    new, old, _ = columns(batch)
    gains = [(-1.0) ** place * (1.0 + place) for place in range(len(new))]
    expected = []
    for one, other, gain in zip(new, old, gains, strict=True):
        ratio = math.exp(one - other)
        expected.append(-min(ratio * gain, min(max(ratio, 0.8), 1.2) * gain))
    np.testing.assert_allclose(surrogate_losses(new, old, old, gains), expected, rtol=1e-12)


def test_mismatch_of_a_worked_example() -> None:
    """Ratios 2 and 1/2: no mean difference, and yet they are apart."""
    found = measure_mismatch(np.log([0.5, 0.25]), np.log([0.25, 0.5]), [1, 0, 1])
    assert (found.tokens, found.sequences, found.far) == (2, 2, 0.0)
    assert found.kl == pytest.approx(0.0, abs=1e-15)
    assert found.kl_k3 == pytest.approx((2 - 1 - math.log(2) + 0.5 - 1 + math.log(2)) / 2)
    assert found.effective_tokens == found.effective_sequences == pytest.approx(2.5**2 / (2 * 4.25))
    assert (found.largest_ratio, found.smallest_ratio) == pytest.approx((2.0, 0.5))
    assert "0.25 nats a token" in (found.warning() or "")


@given(sequences.filter(lambda batch: any(batch)))
def test_figures_are_those_of_plain_loops(batch: list[list[tuple[float, float]]]) -> None:
    """And within what their meaning allows."""
    learner, sampler, lengths = columns(batch)
    found = measure_mismatch(learner, sampler, lengths)
    ratios = [one - other for one, other in zip(learner, sampler, strict=True)]
    sums = [math.fsum(one - other for one, other in sequence) for sequence in batch if sequence]
    assert found.kl == pytest.approx(-math.fsum(ratios) / len(ratios), abs=1e-12)
    assert found.kl_k3 == pytest.approx(math.fsum(math.exp(r) - r - 1 for r in ratios) / len(ratios), abs=1e-9)
    for share, logarithms in ((found.effective_tokens, ratios), (found.effective_sequences, sums)):
        weights = [math.exp(r) for r in logarithms]
        expected = math.fsum(weights) ** 2 / (len(weights) * math.fsum(w * w for w in weights))
        assert share == pytest.approx(expected, rel=1e-9)
        assert 1 / len(weights) - 1e-9 <= share <= 1 + 1e-9
    assert found.kl_k3 >= -1e-12


def test_close_policies_are_no_warning_and_far_ones_say_what_to_do() -> None:
    """Another temperature is seen as a mismatch; the right one is none."""
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3.0, size=(400, 20))
    ids = np.array([rng.choice(20, p=np.exp(row / 2) / np.exp(row / 2).sum()) for row in logits])
    sampled = logprobs_at(logits, ids, 2.0)
    assert measure_mismatch(logprobs_at(logits, ids, 2.0), sampled, [400]).warning() is None
    wrong = measure_mismatch(logprobs_at(logits, ids, 1.6), sampled, [400])
    assert "temperatures" in (wrong.warning() or "")
    few = measure_mismatch([0.0] * 999 + [6.9 - 7.0], [0.0] * 999 + [-7.0], [1000])
    assert "truncate or mask" in (few.warning() or "")


def test_log_probabilities_at_a_temperature() -> None:
    """A hand-worked softmax, and rows of enormous logits."""
    found = logprobs_at([[math.log(1), math.log(3)], [1e9, 0.0]], [1, 0], 1.0)
    np.testing.assert_allclose(found, [math.log(0.75), 0.0])
    np.testing.assert_allclose(logprobs_at([[0.0, math.log(9)]], [1], 2.0), [math.log(0.75)])


@pytest.mark.parametrize(
    "call",
    [
        lambda: importance_weights([0.0], [0.0, 0.0]),
        lambda: importance_weights([0.0], [math.nan]),
        lambda: importance_weights([0.5], [-0.5]),
        lambda: measure_mismatch([-0.5], [0.5], [1]),
        lambda: importance_weights([0.0], [0.0], level="turn"),  # type: ignore[arg-type]
        lambda: importance_weights([0.0], [0.0], level="sequence"),
        lambda: importance_weights([0.0], [0.0], [2], level="sequence"),
        lambda: importance_weights([0.0], [0.0], upper=0.0),
        lambda: importance_weights([0.0], [0.0], upper=1.0, lower=2.0),
        lambda: importance_weights([0.0], [0.0], outside="drop"),  # type: ignore[arg-type]
        lambda: surrogate_losses([0.0], [0.0], [0.0], [0.0], clip=1.5),
        lambda: surrogate_losses([0.0], [0.0], [0.0], [0.0, 1.0]),
        lambda: measure_mismatch([], [], []),
        lambda: measure_mismatch([0.0], [0.0], [0.5]),
        lambda: logprobs_at([[0.0]], [0], 0.0),
        lambda: logprobs_at([[0.0]], [1]),
        lambda: logprobs_at([0.0], [0]),
    ],
)
def test_what_cannot_be_is_refused(call: Any) -> None:
    """With what was wrong, before anything is computed."""
    with pytest.raises(ArgumentError):
        call()
