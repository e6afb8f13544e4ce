"""Rows of token ids with masks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from gem.errors import ArgumentError
from gem_rl.export.conversation import Message, conversation
from gem_rl.token_row import measured_logprobs, paid_at_tokens, token_rows
from gem_rl.turn_batch import Floats
from gem_rollout.trajectory.record import Trajectory

__all__ = ["IGNORED", "ChatEncoder", "rl_rows", "sft_token_rows"]

IGNORED = -100
"""The label of a token without loss, as in PyTorch and Hugging Face's trainers."""

Row = dict[str, Any]


class ChatEncoder(Protocol):
    """Renders chat messages as token ids.

    With Hugging Face's tokenizers: ``lambda messages, generate: tokenizer.apply_chat_template(messages,
    add_generation_prompt=generate, return_dict=False)``.
    """

    def __call__(self, messages: list[Message], add_generation_prompt: bool, /) -> Sequence[int]:
        """Return the ids of the messages, and of what opens an answer if asked for."""


def rl_rows(trajectories: Iterable[Trajectory], advantages: Floats | None = None) -> Iterator[Row]:
    """Yield rows for reinforcement learning from sampled ids; nothing is tokenized.

    ``input_ids``; ``action_mask``, 1 for tokens to train on; ``observation_mask``, 1 for what the environment added
    between two turns; ``logprobs`` as sampled, 0.0 elsewhere, and None for a row of which one was not measured;
    ``turns``, −1 elsewhere; ``versions`` of the weights, −1 elsewhere, and None for a row of which one is unknown; and,
    of the turn, ``rewards`` at its last token and ``advantages`` at each of its tokens, 0.0 elsewhere.
    One episode makes several rows where its history was rewritten; see :func:`gem_rl.token_rows`. Their rewards add up
    to the return; see :func:`gem_rl.paid_at_tokens`.

    Args:
        trajectories: episodes of one agent each, with token ids.
        advantages: ``(N,)``, of all turns of the episodes in order; the rows have none unless given.

    Raises:
        TrajectoryError: if a turn has no token ids.
        ArgumentError: if there are more or fewer advantages than turns.
    """
    first = 0
    for trajectory in trajectories:
        turns = len(trajectory.transitions)
        of_turns = None if advantages is None else advantages[first : first + turns].tolist()
        if of_turns is not None and len(of_turns) != turns:
            raise ArgumentError(f"there are {first + len(of_turns)} advantages, and more turns")
        first += turns
        rows = token_rows(trajectory)
        for row, rewards in zip(rows, paid_at_tokens(trajectory, rows), strict=True):
            places = row.turns.tolist()
            found = {
                "input_ids": row.token_ids.tolist(),
                "action_mask": row.trained.astype(int).tolist(),
                "observation_mask": [int(flag) for flag in row.observed.tolist()],
                "logprobs": measured_logprobs(row),
                "turns": places,
                "versions": None if row.versions is None else row.versions.tolist(),
                "rewards": rewards,
                "env_id": trajectory.key.env,
                "seed": str(trajectory.key.seed),
                "repetition": trajectory.key.repetition,
            }
            if of_turns is not None:
                found["advantages"] = [of_turns[place] if place >= 0 else 0.0 for place in places]
            yield found
    if advantages is not None and first != len(advantages):
        raise ArgumentError(f"there are {len(advantages)} advantages, and {first} turns")


def sft_token_rows(trajectories: Iterable[Trajectory], encode: ChatEncoder) -> Iterator[Row]:
    """Yield rows for supervised fine-tuning with any tokenizer: ``input_ids``, and ``labels`` for the agent's words.

    The labels of everything else are :data:`IGNORED`. An answer is what the conversation up to it has more than the
    conversation before it with an open answer. Where a template renders earlier messages differently later on, such as
    one that removes earlier reasoning, the answer begins a row of its own, after exactly the prompt that a server would
    have sent.

    Args:
        trajectories: the episodes to imitate.
        encode: the tokenizer's chat template.

    Raises:
        ArgumentError: if an answer is no continuation of its own prompt; the message names the episode.
    """
    for trajectory in trajectories:
        messages = conversation(trajectory)
        ids: list[int] = []
        labels: list[int] = []
        for place, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            prompt = list(encode(messages[:place], True))
            answered = list(encode(messages[: place + 1], False))
            if answered[: len(prompt)] != prompt:
                raise ArgumentError(
                    f"the template does not continue its own prompt at message {place} of the episode "
                    f"{trajectory.key}: gem check-template shows where"
                )
            if ids and prompt[: len(ids)] != ids:
                yield {"input_ids": ids, "labels": labels}
                ids, labels = [], []
            labels += [IGNORED] * (len(prompt) - len(ids)) + answered[len(prompt) :]
            ids = answered
        if ids:
            yield {"input_ids": ids, "labels": labels}
