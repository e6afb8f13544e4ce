"""The training loop: a warm start, then reinforcement learning through the rollout engine.

A small model of its own begins with random play, a pretrained one, if wanted, with answers of the reference policy.

Copy this file to change what it does; everything that it imports stays as it is. A run is a function of its recipe, its
seed and the number of torch's threads: a trainer that is killed at any moment resumes to the same weights, bit for bit.
It plays the update again in which it was killed, or, with ``keep_turns``, what is left of it. Where an agent program
plays, its calls come as they come, and without ``keep_turns`` a resumed run goes on with other samples.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

import gem
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.policies import make_policy
from gem_rl.diagnostics import BatchDiagnostics, CollapseMonitor, diagnose
from gem_rl.token_weights import loss_weights
from gem_rl.training.episode_rows import TextRow, by_length, rows_of_texts, sampled_counts, training_rows
from gem_rl.training.folder import TrainingFolder
from gem_rl.training.losses import PolicyObjective, text_loss, with_reference
from gem_rl.training.models import new_model, new_tokenizer, saved_tokenizer
from gem_rl.training.playing import EpisodePlayer
from gem_rl.training.recipe import Recipe
from gem_rl.training.self_play import PastVersion
from gem_rl.training.update_advantages import OwnAdvantage, UpdateAdvantages, kept_episodes
from gem_rl.training.update_journal import UpdateJournal
from gem_rl.training.weights import Weights, copied_weights, learning_parameters, load_weights, using_weights
from gem_rl.turn_batch import Floats, TurnBatch
from gem_rollout import EpisodeLimits, EpisodeRequest, mixture
from gem_rollout.trajectory import Trajectory

__all__ = ["Trainer"]

Report = Callable[[dict[str, Any]], None]

_EVALUATION_SEED = 2**61
"""The first seed of evaluations; those of training begin at 0, so the two never meet."""
_WARM_SEED = 2**60
_REFERENCE_SEED = 3 * 2**59
_RECORDED = 4
"""Episodes of each update that are recorded."""
_WARM_ROWS = 32
"""Rows of each step of the warm start."""
_REFERENCE_ROWS = 16
"""Rows of each step of supervised learning."""
_SEEDS = 2**32
"""Seeds of episodes that each run has for itself."""


class Trainer:
    """Trains a small model, or a pretrained one, on GEM environments.

    Args:
        recipe: the settings.
        seed: of weights, samples and episodes.
        folder: where the checkpoint and the metrics go.
        device: of the model, in torch's words.

    Raises:
        ArgumentError: if the folder has a checkpoint of another recipe, seed, device or number of threads.
    """

    def __init__(self, recipe: Recipe, seed: int, folder: Path, *, device: str = "cpu") -> None:
        self.recipe = recipe
        self.seed = seed
        self.device = device
        self.folder = TrainingFolder(folder)
        self.update = 0
        """Updates that are done."""
        self.warm_seconds = 0.0
        """CPU seconds of the warm start and of supervised learning."""
        specs = {name: gem.spec(name).with_kwargs(dict(recipe.kwargs)) for name in recipe.environments}
        self.specs: dict[str, EnvSpec] = specs
        self.player = EpisodePlayer(recipe, specs)
        """Plays the episodes, and has the past versions that play against the current one."""
        own = OwnAdvantage(recipe.advantage) if recipe.advantage else None
        self._own_digest = None if own is None else own.digest
        self._advantages = UpdateAdvantages(recipe, own, self._final_values)
        self.reference: Weights | None = None
        """The weights before the first update, where the recipe keeps to them."""
        torch.manual_seed(seed)
        self.sampling = torch.Generator().manual_seed(seed)
        self.shuffling = random.Random(seed)
        found = self.folder.checkpoint(self._settings())
        if found is None:
            began = time.process_time()
            # A published model that is not warmed up needs no random play, which not every environment has.
            warm = [] if recipe.model and not recipe.warm_steps else self._random_play()
            self._build(new_tokenizer(recipe, [] if recipe.model else self._texts(warm)))
            self._warm_up(warm)
            self._imitate()
            self.reference = copied_weights(self.model) if recipe.kl_weight else None
            self.player.pool.offer(0, lambda: copied_weights(self.model))
            self.warm_seconds = time.process_time() - began
            self.folder.begin(recipe, seed, specs)
            self.save()
        else:
            self._build(saved_tokenizer(recipe, found["tokenizer"]))
            self._restore(found)

    def train(self, report: Report = lambda figures: None) -> str | None:
        """Train to the last update, saving after each.

        Args:
            report: receives the figures of each update.

        Returns:
            Why training was stopped before its end, or None.
        """
        monitor = CollapseMonitor()
        sentence: str | None = None
        for earlier in self.folder.metrics:  # of a run that goes on
            sentence = monitor.record(BatchDiagnostics.from_dict(earlier))
        while sentence is None and self.update < self.recipe.updates:
            figures, sentence = self.step(monitor)
            self.save()
            report(figures)
        UpdateJournal.remove(self.folder.path)
        return sentence

    def step(self, monitor: CollapseMonitor) -> tuple[dict[str, Any], str | None]:
        """Play episodes, learn from them, and return the figures of the update and what has collapsed."""
        began = time.process_time()
        number = self.recipe.episodes
        requests = self._requests(number, self.seed * _SEEDS, done=self.update * number)
        with self._journal(requests) as journal:
            episodes = self.play(requests, limits=self._limits(), journal=journal)
        played = time.process_time()
        lived = self.player.of_learner(episodes, all_seats=not self.recipe.opponents)
        diagnostics = diagnose(lived)
        losses = self._learn(lived)
        self.update += 1
        self.player.pool.offer(self.update, lambda: copied_weights(self.model))
        figures = {
            "update": self.update,
            **diagnostics.to_dict(),
            **losses,
            "turns": sum(map(len, lived)),
            "rollout_cpu_seconds": played - began,
            "update_cpu_seconds": time.process_time() - played,
        }
        if begun_again := sum("begun_again" in one.metadata for one in episodes):
            figures["begun_again"] = begun_again
        for episode in episodes:
            episode.metadata["update"] = self.update
        self.folder.record(figures, episodes[:: max(1, len(episodes) // _RECORDED)])
        return figures, monitor.record(diagnostics)

    def evaluate(self, episodes: int | None = None, *, temperature: float | None = None) -> list[Trajectory]:
        """Return episodes of seeds that training never plays, the same for all runs.

        What is trained does not change. Other agents of an environment play at random.

        Args:
            episodes: their number; the recipe's by default.
            temperature: of the samples; the recipe's ``evaluation_temperature`` by default.
        """
        return self.player.of_learner(
            self.player.play(
                self.evaluation_requests(episodes),
                self.model,
                self.tokenizer,
                torch.Generator().manual_seed(self.seed),
                version=self.update,
                temperature=self.recipe.evaluation_temperature if temperature is None else temperature,
                against="random",
            )
        )

    def evaluation_requests(self, episodes: int | None = None) -> list[EpisodeRequest]:
        """Return the tasks of an evaluation: the recipe's number of them by default."""
        return self._requests(episodes or self.recipe.evaluated, _EVALUATION_SEED, group=1)

    def assess(self) -> list[Trajectory]:
        """Return the episodes of an evaluation, and note which tasks were achieved in ``evaluations.jsonl``."""
        episodes = self.evaluate()
        self.folder.record_evaluation(self.update, [one.success for one in episodes])
        return episodes

    def play(
        self,
        requests: Sequence[EpisodeRequest],
        *,
        limits: EpisodeLimits | None = None,
        journal: UpdateJournal | None = None,
    ) -> list[Trajectory]:
        """Return the episodes of these requests, played by the model as in training, in the order of the requests."""
        return self.player.play(
            requests,
            self.model,
            self.tokenizer,
            self.sampling,
            version=self.update,
            limits=limits,
            journal=journal,
        )

    def _journal(self, requests: Sequence[EpisodeRequest]) -> AbstractContextManager[UpdateJournal | None]:
        if not self.recipe.keep_turns:
            return nullcontext()
        return UpdateJournal(self.folder.path, {request.key for request in requests})

    def _learn(self, episodes: list[Trajectory]) -> dict[str, float]:
        """Change the weights by the episodes of an update; return the mean parts of the loss."""
        recipe = self.recipe
        episodes = kept_episodes(recipe, episodes)
        batch = TurnBatch.from_trajectories(episodes)
        counts = sampled_counts(episodes)
        advantages, returns = self._advantages(batch, episodes, counts)
        if not advantages.any():
            return {"constant_batch": 1.0}
        weights = loss_weights(batch, counts) * recipe.minibatches
        rows = training_rows(episodes, advantages, weights, returns)
        objective = PolicyObjective(
            recipe.clip,
            recipe.value_weight if recipe.learns_values else 0.0,
            recipe.entropy_bonus,
            recipe.world_model,
            recipe.kl_weight,
        )
        if self.reference is not None:
            with using_weights(self.model, self.reference):
                rows = with_reference(self.model, rows)
        self._set_learning_rate()
        parts: list[tuple[float, ...]] = []
        for _ in range(recipe.epochs):
            self.shuffling.shuffle(rows)
            size = math.ceil(len(rows) / recipe.minibatches)
            for start in range(0, len(rows), size):
                sums = np.zeros(5)
                for loss in objective.parts(self.model, rows[start : start + size]):
                    loss.total.backward()
                    parts_of_loss = (loss.policy, loss.value, loss.entropy, loss.clipped, loss.divergence)
                    sums += [float(one) for one in parts_of_loss]
                parts.append((*sums.tolist(), self._descend()))
        names = ("policy_loss", "value_loss", "policy_entropy", "clipped", "divergence", "gradient_norm")
        figures: dict[str, float] = dict(zip(names, np.mean(parts, axis=0).tolist(), strict=True))
        if self.reference is None:
            del figures["divergence"]  # not 0, but from nothing
        return figures

    @torch.inference_mode()
    def _final_values(self, episodes: Sequence[Trajectory]) -> Floats:
        """Return the values of the states after episodes that a limit cut off; 0 for the others."""
        values = np.zeros(len(episodes))
        for place, episode in enumerate(episodes):
            last = episode.transitions[-1] if episode.transitions else None
            if last is not None and not last.terminated:
                conversation = self.tokenizer.conversation()
                for turn in episode.transitions if self.recipe.history else ():
                    conversation.prompt(str(turn.observation))
                    conversation.note(turn.token_ids or ())
                seen = conversation.prompt(str(episode.final_observation))
                ids = torch.tensor([seen[-self.model.context :]], device=self.model.device)
                values[place] = float(self.model.values(self.model.hidden(ids)[0, -1]))
        return values

    def _requests(self, episodes: int, seed: int, *, group: int | None = None, done: int = 0) -> list[EpisodeRequest]:
        """Return the next episodes of the mixture of environments whose seeds begin here, in the recipe's groups.

        The mixture is that of the whole run, so that each environment has its share over all updates, also one that is
        too rare for each of them.

        Args:
            episodes: their number.
            seed: the first seed of each environment.
            group: rollouts of each seed; the recipe's by default.
            done: episodes of the mixture that were played before.
        """
        plan = mixture(self.recipe.environments, group=group or self.recipe.group, seed=seed, specs=self.specs)
        return list(islice(plan, done, done + episodes))

    def _limits(self) -> EpisodeLimits | None:
        budget = self.recipe.turn_budget()
        return None if budget is None else EpisodeLimits(max_turns=budget.turns(self.update))

    def _set_learning_rate(self) -> None:
        recipe = self.recipe
        rising = min(1.0, (self.update + 1) / recipe.rise)
        falling = 1 - 0.9 * self.update / recipe.updates
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.learning_rate * rising * falling

    def _descend(self) -> float:
        """Take a step along the gradients, clear them, and return their norm."""
        norm = torch.nn.utils.clip_grad_norm_(learning_parameters(self.model).values(), self.recipe.gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm)

    def _build(self, tokenizer: Any) -> None:
        """Make the model of a tokenizer."""
        recipe = self.recipe
        self.tokenizer = tokenizer
        self.model = new_model(recipe, tokenizer)
        self.model.to(self.device)
        self.optimizer = self._new_optimizer()

    def _new_optimizer(self) -> torch.optim.Optimizer:
        """Return the optimizer, without moments."""
        parameters = list(learning_parameters(self.model).values())
        return torch.optim.AdamW(parameters, lr=self.recipe.learning_rate, betas=(0.9, 0.95), weight_decay=0.0)

    def _random_play(self) -> list[Trajectory]:
        """Return episodes of the random policy."""
        requests = self._requests(self.recipe.warm_episodes, _WARM_SEED + self.seed * _SEEDS)
        return self.player.played_by(partial(make_policy, "random"), requests)

    def _texts(self, episodes: list[Trajectory]) -> list[str]:
        """Return the text of episodes and the answers to malformed actions, which random play never meets."""
        texts = [str(one.final_observation) for one in episodes]
        texts += [str(part) for one in episodes for turn in one.transitions for part in (turn.observation, turn.action)]
        for spec in self.specs.values():
            for seed in range(8):
                with gem.make(spec) as env:
                    env.reset(seed=seed)
                    acting = getattr(env.unwrapped, "active_agents", None)
                    seen = env.step("" if acting is None else dict.fromkeys(acting, ""))[0]
                    texts += map(str, [seen] if acting is None else seen.values())
        return texts

    def _warm_up(self, episodes: list[Trajectory]) -> None:
        """Learn to predict every token of random play."""
        recipe = self.recipe
        rows = [row.up_to(self.model.context) for row in rows_of_texts(episodes, self.tokenizer, recipe.history)]
        self._predict(rows, recipe.warm_steps, recipe.warm_learning_rate, _WARM_ROWS, actions=False)

    def _imitate(self) -> None:
        """Learn the actions of the reference policy.

        Raises:
            ArgumentError: if an environment has no reference policy, or none of its actions fits into the context.
        """
        recipe = self.recipe
        if not recipe.sft_steps:
            return
        if several := [name for name, agents in self.player.agents.items() if agents]:
            raise ArgumentError(f"the reference policy of {several[0]} plays all agents at once; set sft_steps to 0")
        if missing := [name for name, spec in self.specs.items() if spec.reference_policy is None]:
            raise ArgumentError(f"{missing[0]} declares no reference policy to learn from; set sft_steps to 0")
        requests = self._requests(recipe.sft_tasks, _REFERENCE_SEED + self.seed * _SEEDS, group=1)
        episodes = self.player.played_by(partial(make_policy, "reference"), requests)
        played = [one for one in episodes if one.error is None]
        rows = [row.up_to(self.model.context) for row in rows_of_texts(played, self.tokenizer, recipe.history)]
        rows = [row.up_to(row.last_act + 1) for row in rows if row.last_act >= 0]
        if not rows:
            raise ArgumentError(f"no action of the reference policy fits into context = {recipe.context} tokens")
        self._predict(rows, recipe.sft_steps, recipe.sft_learning_rate, _REFERENCE_ROWS, actions=True)

    def _predict(self, rows: list[TextRow], steps: int, learning_rate: float, size: int, *, actions: bool) -> None:
        """Take steps of supervised learning with so many rows each."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        for _ in range(steps):
            batch = self.shuffling.choices(rows, k=size)
            tokens = sum(map(TextRow.acts if actions else TextRow.predicted, batch))
            for chunk in by_length(batch):
                (text_loss(self.model, chunk, actions=actions) / tokens).backward()
            self._descend()
        # Moments of these steps would point elsewhere than the rewards do.
        self.optimizer = self._new_optimizer()

    def save_adapters(self) -> None:
        """Write the adapters of a pretrained model into ``adapter/``, as peft and transformers load them."""
        if self.recipe.lora:
            self.model.save_adapters(self.folder.path / "adapter")

    def save(self) -> None:
        """Write a checkpoint."""
        self.folder.save(
            {
                **self._settings(),
                "update": self.update,
                "warm_seconds": self.warm_seconds,
                "tokenizer": self.tokenizer.to_json(),
                "model": {name: one.detach() for name, one in learning_parameters(self.model).items()},
                "reference": self.reference,
                "opponents": [(one.update, one.weights) for one in self.player.pool.versions],
                "optimizer": self.optimizer.state_dict(),
                "sampling": self.sampling.get_state(),
                "shuffling": self.shuffling.getstate(),
            }
        )

    def _settings(self) -> dict[str, Any]:
        """Return what decides every weight."""
        return {
            "recipe": self.recipe.to_dict(),
            "seed": self.seed,
            "threads": torch.get_num_threads(),
            "device": self.device,
            **({} if self._own_digest is None else {"advantage_source": self._own_digest}),
        }

    def _restore(self, found: dict[str, Any]) -> None:
        self.update, self.warm_seconds = found["update"], found["warm_seconds"]
        load_weights(self.model, found["model"])
        self.reference = found.get("reference")
        self.player.pool.versions = [PastVersion(*one) for one in found.get("opponents", ())]
        self.optimizer.load_state_dict(found["optimizer"])
        self.sampling.set_state(found["sampling"])
        self.shuffling.setstate(found["shuffling"])
