"""The parts of the trainer: rows, losses, samples, seeds, targets, against independent computations."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")

import gem  # noqa: E402
from gem.core import Env  # noqa: E402
from gem.policies import Act  # noqa: E402
from gem_rl import CollapseMonitor  # noqa: E402
from gem_rl import gae as real_gae  # noqa: E402
from gem_rl.training.agents import BatchSampler, sample_tokens  # noqa: E402
from gem_rl.training.episode_rows import TrainingRow, training_rows  # noqa: E402
from gem_rl.training.losses import PolicyObjective  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.tiny_tokenizer import TinyTokenizer  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rl.training.transformer import ModelSize, TinyTransformer  # noqa: E402
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder  # noqa: E402


def episode(*turns: tuple[list[int], list[int]]) -> Trajectory:
    """Return an episode of turns with these prompts and sampled ids, each with a log-probability of its own."""
    builder = TrajectoryBuilder()
    builder.begin("?", {})
    for place, (prompt, ids) in enumerate(turns):
        logprobs = [-0.3 - 0.4 * (token % 7) for token in ids]
        over = place == len(turns) - 1
        builder.add(Act("a", prompt_token_ids=prompt, token_ids=ids, logprobs=logprobs), "?", 0.0, over, False, {})
    return builder.finish()


EPISODES = [
    episode(([1, 2], [3, 4]), ([1, 2, 3, 4, 5], [6]), ([7, 8], [9, 10, 11])),  # the third turn begins a row
    episode(([2, 3, 4], [5]), ([2, 3, 4, 5, 6, 7], [8, 9])),
]
COUNTS = [2, 1, 3, 1, 2]


def rows_of_episodes() -> list[TrainingRow]:
    advantages, returns = np.array([1.5, -2.0, 0.7, -0.4, 2.2]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    return training_rows(EPISODES, advantages, np.arange(1.0, 10.0) / 45, returns)


def test_each_sampled_token_has_the_advantage_of_its_turn_and_its_own_weight() -> None:
    """And each response the target of its value at its first token; everything else is 0."""
    rows = rows_of_episodes()
    assert [row.tokens.token_ids.tolist() for row in rows] == [
        [1, 2, 3, 4, 5, 6],
        [7, 8, 9, 10, 11],
        list(range(2, 10)),
    ]
    advantages = [[0, 0, 1.5, 1.5, 0, -2], [0, 0, 0.7, 0.7, 0.7], [0, 0, 0, -0.4, 0, 0, 2.2, 2.2]]
    weights = [[0, 0, 1, 2, 0, 3], [0, 0, 4, 5, 6], [0, 0, 0, 7, 0, 0, 8, 9]]
    first = [[0, 0, 1, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0, 1, 0]]
    returns = [[0, 0, 0.1, 0, 0, 0.2], [0, 0, 0.3, 0, 0], [0, 0, 0, 0.4, 0, 0, 0.5, 0]]
    for place, row in enumerate(rows):
        assert row.advantages.tolist() == advantages[place]
        np.testing.assert_allclose(row.weights, np.array(weights[place]) / 45)
        assert row.first.tolist() == first[place]
        assert row.returns.tolist() == returns[place]


def test_the_loss_is_that_of_the_papers() -> None:
    """Token by token: the clipped surrogate, the value head's error, the entropy, the loss on observations, and the
    divergence from a reference.
    """
    torch.manual_seed(0)
    model = TinyTransformer(ModelSize(vocabulary=12, width=8, layers=1, heads=2, context=16))
    torch.nn.init.normal_(model.embedding.weight, std=0.5)
    torch.nn.init.normal_(model.value.weight)
    rows = [replace(row, reference=np.arange(len(row)) * -0.1 - 0.2) for row in rows_of_episodes()]
    objective = PolicyObjective(clip=0.2, value_weight=0.7, entropy_bonus=0.3, world_model=0.11, kl_weight=0.13)
    policy = value = entropy = seen = clipped = divergence = 0.0
    sides = set()
    for row in rows:
        ids = torch.as_tensor(row.tokens.token_ids)
        with torch.no_grad():
            states = model.hidden(ids[None])[0]
            logprobs = model.logits(states).log_softmax(-1).double()
            values = model.values(states).double()
        for place in range(1, len(ids)):
            surprise = float(logprobs[place - 1, ids[place]])
            if row.tokens.observed[place]:
                seen -= surprise / 3  # observed tokens of all rows
            if not row.tokens.sampled[place]:
                continue
            ratio, advantage = math.exp(surprise - row.tokens.logprobs[place]), row.advantages[place]
            bounded = min(max(ratio, 0.8), 1.2)
            policy -= row.weights[place] * min(ratio * advantage, bounded * advantage)
            clipped += row.weights[place] * (ratio != bounded)
            likelier = math.exp(-0.2 - 0.1 * place - surprise)  # by the reference
            divergence += row.weights[place] * (likelier - math.log(likelier) - 1)
            sides.add((ratio > bounded) - (ratio < bounded))
            entropy -= float((logprobs[place - 1].exp() * logprobs[place - 1]).sum()) / 9
            if row.first[place]:
                value += (float(values[place - 1]) - row.returns[place]) ** 2 / 5
    assert sides >= {-1, 1}
    losses = list(objective.parts(model, rows))
    for name, expected in {
        "policy": policy,
        "value": value,
        "entropy": entropy,
        "clipped": clipped,
        "divergence": divergence,
        "total": policy + 0.7 * value - 0.3 * entropy + 0.11 * seen + 0.13 * divergence,
    }.items():
        assert sum(float(getattr(loss, name).detach()) for loss in losses) == pytest.approx(expected, rel=1e-4), name


def test_samples_follow_the_temperature_and_their_log_probabilities_do_not() -> None:
    """What is recorded is log π at temperature 1, whatever the temperature of the samples."""
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05])
    logits = (probabilities.log() + 3).expand(20_000, -1)
    for temperature in (1.0, 0.5, 2.0):
        token, logprob = sample_tokens(logits, temperature, torch.Generator().manual_seed(0))
        expected = probabilities ** (1 / temperature)
        shares = torch.bincount(token, minlength=4) / len(token)
        torch.testing.assert_close(shares, expected / expected.sum(), atol=0.02, rtol=0.0)
        torch.testing.assert_close(logprob, probabilities[token].log())
    token, logprob = sample_tokens(logits[:2], 0.0, torch.Generator())
    assert token.tolist() == [0, 0]
    torch.testing.assert_close(logprob, torch.full((2,), math.log(0.5)))


class Recorder(Env[str, str]):
    """Notes the seeds of its episodes; an answer with an "a" pays, and after two turns the episode is cut off."""

    seeds: ClassVar[list[int | None]] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.turn = 0
        return "say a", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return "again", float("a" in action), action.startswith("b"), self.turn == 2, {}

    def sample_random_action(self) -> str:
        return self.rng.choice("abc")


RECIPE = Recipe(
    {"test:Recorder-v0": 1.0},
    algorithm="ppo",
    updates=4,
    rise=2,
    episodes=8,
    minibatches=1,
    learning_rate=1e-2,
    warm_episodes=8,
    warm_steps=0,
    width=8,
    layers=1,
    heads=2,
    context=64,
    max_new_tokens=3,
)


@pytest.fixture(autouse=True)
def prepared() -> Any:
    """Offers the environment, and lets torch use one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gem.register("test:Recorder-v0", Recorder)
    Recorder.seeds.clear()
    try:
        yield
    finally:
        gem.registry.unregister("test:Recorder-v0")
        torch.set_num_threads(threads)


def test_no_seed_is_played_twice(tmp_path: Path) -> None:
    """Warm start, updates, evaluation and the runs of other seeds share none; evaluations of all runs share theirs."""
    played: list[int | None] = []
    evaluated = []
    for seed in (1, 2):
        trainer = Trainer(RECIPE, seed, tmp_path / str(seed))
        trainer.train()
        seen = Recorder.seeds[:]
        assert sorted(seen[8:16]) == list(range(8))  # the tokenizer reads what these say to an action without form
        played += seen[:8] + seen[16:]
        Recorder.seeds.clear()
        trainer.evaluate(8)
        evaluated.append(Recorder.seeds[:])
        Recorder.seeds.clear()
    assert len(played) == len(set(played)) == 2 * (8 + 4 * 8)
    assert evaluated[0] == evaluated[1]
    assert len(set(evaluated[0])) == 8
    assert not set(evaluated[0]) & {*played, *range(32)}  # a run of seed 0 plays 0 to 31


def test_the_learning_rate_rises_and_falls(tmp_path: Path) -> None:
    """Linearly over the first updates, and to a tenth at the end."""
    trainer = Trainer(RECIPE, 0, tmp_path)
    rates: list[float] = []
    trainer.train(lambda figures: rates.append(trainer.optimizer.param_groups[0]["lr"] / RECIPE.learning_rate))
    assert rates == pytest.approx([0.5, 1 - 0.9 / 4, 1 - 0.9 / 2, 1 - 0.9 * 3 / 4])


@pytest.mark.parametrize("history", [True, False], ids=["episode", "observation"])
def test_what_follows_a_cut_has_the_value_of_the_state_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: bool
) -> None:
    """An end has none; advantages are standardized over the turns."""
    trainer = Trainer(replace(RECIPE, history=history, episodes=32), 0, tmp_path)
    torch.nn.init.normal_(trainer.model.value.weight)
    given: dict[str, Any] = {}

    def noted_gae(batch: Any, values: Any, final_values: Any, *rest: Any) -> Any:
        given.update(batch=batch, finals=np.array(final_values))
        return real_gae(batch, values, final_values, *rest)

    def rows(episodes: Any, advantages: Any, *rest: Any) -> Any:
        given.update(episodes=episodes, advantages=advantages)
        expected = np.zeros(len(episodes))
        for place, one in enumerate(episodes):
            last = one.transitions[-1]
            if not last.terminated:
                before = [*last.prompt_token_ids, *last.token_ids] if history else []
                ids = torch.tensor([[*before, *trainer.tokenizer.encode("again"), trainer.tokenizer.act]])
                with torch.no_grad():
                    expected[place] = float(trainer.model.values(trainer.model.hidden(ids)[0, -1]))
        given["expected"] = expected
        return training_rows(episodes, advantages, *rest)

    monkeypatch.setattr("gem_rl.training.update_advantages.gae", noted_gae)
    monkeypatch.setattr("gem_rl.training.trainer.training_rows", rows)
    trainer.step(CollapseMonitor())
    np.testing.assert_allclose(given["finals"], given["expected"], rtol=1e-4, atol=1e-5)
    assert 0 < np.count_nonzero(given["finals"]) < len(given["finals"])
    assert given["advantages"].mean() == pytest.approx(0, abs=1e-9)
    assert given["advantages"].std() == pytest.approx(1, abs=1e-6)


def test_samples_depend_on_no_order_of_questions() -> None:
    """Agents that ask in another order get the same tokens: a batch is sampled in the order of the keys."""
    torch.manual_seed(0)
    tokenizer = TinyTokenizer.trained_on(["guess a number", "abc"] * 4)
    model = TinyTransformer(ModelSize(len(tokenizer), width=8, layers=1, heads=2, context=64, spoken=tokenizer.spoken))

    async def answers(order: list[int]) -> dict[int, list[int]]:
        sampler = BatchSampler(model, tokenizer, torch.Generator().manual_seed(0), lambda: len(order), max_new_tokens=6)
        with gem.make("test:Recorder-v0") as env:
            agents = {seed: sampler.agent(env) for seed in order}
            for seed, agent in agents.items():
                agent.seed_episode(seed, 0)
            acts = await asyncio.gather(*(agent.act("guess", {}) for agent in agents.values()))
        return {seed: list(act.token_ids or ()) for seed, act in zip(agents, acts, strict=True)}

    found = asyncio.run(answers([1, 2, 3, 4]))
    assert len({tuple(ids) for ids in found.values()}) > 1
    assert asyncio.run(answers([3, 1, 4, 2])) == found
