"""Reinforcement learning on GEM in one file, to copy and to change; it needs gem-rl[train] and gem-envs-games.

    python examples/train_tiny.py [UPDATES] [LEARNING_RATE]

A small transformer learns to find a number from 1 to 10. Everything that decides what is learnt is in this file: the
warm start, the episodes of an update, the advantages, the loss. gem_rl brings the estimators and the token rows,
gem_rl.training the model, the tokenizer and the sampler; replace any of them. ``gem train`` is the same loop with
checkpoints, recipes and curves. Success begins at about 0.6.
"""

from __future__ import annotations

import asyncio
import random
import sys

import torch
from torch.nn import functional

import gem
from gem.policies import RandomPolicy
from gem.rollout import EpisodeRequest, RolloutEngine, plan_episodes, rollout
from gem.trajectory import Trajectory
from gem_rl import TurnBatch, diagnose, loss_weights, rebn
from gem_rl.training.agents import BatchSampler
from gem_rl.training.episode_rows import TrainingRow, by_length, padded, rows_of_texts, training_rows
from gem_rl.training.tiny_tokenizer import TinyTokenizer
from gem_rl.training.transformer import ModelSize, TinyTransformer

ENVIRONMENT = gem.spec("game:GuessTheNumber-v0-easy").with_kwargs({"max_turns": 10})
EPISODES, GAMMA, CLIP, EPOCHS, MINIBATCHES = 128, 0.9, 0.2, 2, 4
WARM_SEEDS = 2**40  # seeds of the warm start, which training never plays


def warm_start(steps: int) -> tuple[TinyTransformer, TinyTokenizer]:
    """Return a model that predicts every token of random play, observations too; without that it learns nothing."""
    episodes = list(rollout(ENVIRONMENT, RandomPolicy, num_envs=64, episodes=512, seed=WARM_SEEDS))
    texts = [str(part) for one in episodes for turn in one.transitions for part in (turn.observation, turn.action)]
    tokenizer = TinyTokenizer.trained_on(texts + [str(one.final_observation) for one in episodes])
    model = TinyTransformer(ModelSize(len(tokenizer), width=64, layers=2, heads=4, spoken=tokenizer.spoken))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    rows = rows_of_texts(episodes, tokenizer, history=True)
    for _ in range(steps):
        batch = random.choices(rows, k=32)
        count = sum(len(row) - 1 for row in batch)
        for part in by_length([row.ids for row in batch]):  # rows of similar lengths together, so that little is padded
            ids = padded(part, -1, torch.long, model.device)
            logits = model.logits(model.hidden(ids[:, :-1].clamp(min=0))).flatten(0, 1)
            (
                functional.cross_entropy(logits, ids[:, 1:].flatten(), ignore_index=-1, reduction="sum") / count
            ).backward()
        step(model, optimizer)
    return model, tokenizer


def play(model: TinyTransformer, tokenizer: TinyTokenizer, update: int, samples: torch.Generator) -> list[Trajectory]:
    """Return the episodes of an update, each of a seed that was never played before."""
    requests: list[EpisodeRequest] = list(plan_episodes(ENVIRONMENT, episodes=EPISODES, seed=update * EPISODES))

    async def playing() -> list[Trajectory]:
        sampler = BatchSampler(model, tokenizer, samples, lambda: engine.counts.running, max_new_tokens=12)
        engine = RolloutEngine(requests, sampler.agent, concurrency=EPISODES, mode="sync", version=update)
        async with engine:
            return [episode async for episode in engine]

    return sorted(asyncio.run(playing()), key=lambda episode: episode.key)


def policy_loss(model: TinyTransformer, rows: list[TrainingRow]) -> torch.Tensor:
    """Return the clipped surrogate loss of PPO over the tokens that the agent sampled."""

    def field(arrays: list) -> torch.Tensor:
        return padded(arrays, 0.0, torch.float32, model.device)[:, 1:]

    ids = padded([row.tokens.token_ids for row in rows], 0, torch.long, model.device)
    sampled = field([row.tokens.sampled for row in rows]).bool()
    logprobs = model.logits(model.hidden(ids[:, :-1])[sampled]).log_softmax(-1)
    new = logprobs.gather(1, ids[:, 1:][sampled][:, None]).squeeze(1)
    ratio = (new - field([row.tokens.logprobs for row in rows])[sampled]).exp()
    advantages = field([row.advantages for row in rows])[sampled]
    weights = field([row.weights for row in rows])[sampled]
    return -(weights * torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)).sum()


def learn(model: TinyTransformer, optimizer: torch.optim.Optimizer, episodes: list[Trajectory]) -> None:
    """Change the weights by the episodes of an update."""
    batch = TurnBatch.from_trajectories(episodes)
    advantages = rebn(batch, GAMMA)  # or reinforce, grpo, rloo, gae, …: see docs/guides/training.md
    counts = [len(turn.token_ids or ()) for one in episodes for turn in one.transitions]
    weights = loss_weights(batch, counts) * MINIBATCHES
    rows = training_rows(episodes, advantages, weights, returns=advantages)
    for _ in range(EPOCHS):
        random.shuffle(rows)
        for start in range(MINIBATCHES):
            for part in by_length(rows[start::MINIBATCHES]):
                policy_loss(model, part).backward()
            step(model, optimizer)


def step(model: TinyTransformer, optimizer: torch.optim.Optimizer) -> None:
    """Take a step along the gradients, and clear them."""
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def main(updates: int = 60, learning_rate: float = 2e-3, warm_steps: int = 200) -> list[float]:
    """Train, and return the success of each update."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    samples = torch.Generator().manual_seed(0)
    model, tokenizer = warm_start(warm_steps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    found = []
    for update in range(updates):
        episodes = play(model, tokenizer, update, samples)
        figures = diagnose(episodes)
        learn(model, optimizer, episodes)
        found.append(figures.success)
        print(f"update {update + 1}: success {figures.success:.2f}, malformed {figures.malformed:.2f}", flush=True)
    return found


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
