r"""Oat: an actor that collects episodes of GEM environments.

    python oat_actor.py --env_id game:GuessTheNumber-v0-easy --pretrain Qwen/Qwen3-1.7B-Base --gamma 0.9 \
        --train_batch_size_per_device 1 --rollout_batch_size 128 …

It fills in ``PPOMultiTurnActor.collect_experience``: a turn is a transition with the tokens of its prompt and of its
answer, and ``PPOMultiTurnLearner`` computes the returns with any γ.

What was run (``packages/gem-rl/tests/test_trainer_examples.py``): the actor against a stand-in for Oat's base class and
its vLLM engine. What was not run: Oat itself, whose modules import vLLM, and a training run, which needs a GPU. Read:
sail-sg/oat, commit c1a074c.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import launchpad as lp
from oat.algorithms.ppo import PPOArgs
from oat.algorithms.ppo_multiturn import PPOMultiTurnActor, PPOMultiTurnLearner
from oat.args import default_args_validation, get_default_args
from oat.interface import get_program
from oat.types import Transition

import gem
from gem.rollout import EpisodeRequest
from gem.trajectory import EpisodeKey, Trajectory
from gem_rl import is_gradable
from gem_rl.adapters import BatchPlayer, SampledTokens


@dataclass
class GemArgs(PPOArgs):
    """Oat's arguments, and which environment to play."""

    env_id: str = "game:GuessTheNumber-v0-easy"
    env_seed: int = 0


class GemActor(PPOMultiTurnActor):
    """Plays episodes until there are as many turns as the learner takes."""

    def init(self, actor_id: int, save_path: str) -> None:
        """Begin with seeds that no other actor has."""
        super().init(actor_id, save_path)
        self._seed = self.args.env_seed + actor_id * 10_000_000

    def collect_experience(self) -> tuple[list[list[Transition]], dict[str, Any]]:
        """Return episodes as lists of transitions, and figures of them."""
        args = self.args
        player = BatchPlayer(
            self.tokenizer, history="template", max_context=args.prompt_max_length + args.generate_max_length
        )
        spec = gem.spec(args.env_id)
        wanted, turns = args.rollout_batch_size_per_device, 0
        episodes: list[Trajectory] = []
        failed = 0
        while turns < wanted:
            seeds = range(self._seed, self._seed + wanted)
            self._seed = seeds.stop
            for episode in player.play([EpisodeRequest(spec, EpisodeKey(spec.id, seed)) for seed in seeds], self._ask):
                if is_gradable(episode) and episode.transitions:
                    episodes.append(episode)
                    turns += len(episode)
                else:
                    failed += 1
            if failed > 10 * wanted:
                raise RuntimeError(f"{failed} episodes of {spec.id} failed or could not be graded")
        success = [episode.success for episode in episodes if episode.success is not None]
        figures = {"actor/success": sum(success) / len(success)} if success else {}
        figures["actor/ungradable"] = failed
        return [_transitions(episode) for episode in episodes], figures

    def _ask(self, prompts: list[list[int]]) -> Sequence[SampledTokens]:
        params = copy.copy(self.sampling_params)
        params.n = 1
        answers = [output.outputs[0] for output in self.generate(prompts, params)]
        return [
            SampledTokens(
                answer.token_ids,
                [found[token].logprob for token, found in zip(answer.token_ids, answer.logprobs, strict=True)],
                answer.finish_reason,
            )
            for answer in answers
        ]


def _transitions(episode: Trajectory) -> list[Transition]:
    last = len(episode) - 1
    return [
        Transition(
            obs=str(turn.observation),
            action=str(turn.action),
            rewards=turn.reward,
            done=place == last,
            prompt=str(turn.observation),
            prompt_ids=turn.prompt_token_ids,
            response=str(turn.action),
            response_ids=turn.token_ids,
            response_logprobs=turn.logprobs,
            response_is_truncated=turn.finish_reason == "length",
            action_is_formatted=turn.info.get("action_status") != "malformed",
            loss_mask=bool(turn.token_ids),
            info={"actor/turns": len(episode)},
        )
        for place, turn in enumerate(episode.transitions)
    ]


def main() -> None:
    """Run Oat's program with this actor."""
    args = default_args_validation(get_default_args(GemArgs))
    program, resources = get_program(args, PPOMultiTurnLearner, GemActor)
    lp.launch(program, launch_type=args.launch_type, local_resources=resources, terminal="current_terminal")


if __name__ == "__main__":
    main()
