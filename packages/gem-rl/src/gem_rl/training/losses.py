"""What the trainer minimises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from gem_rl.training.episode_rows import TrainingRow, padded
from gem_rl.training.transformer import TinyTransformer

__all__ = ["PolicyLoss", "policy_loss", "text_loss"]


def text_loss(model: TinyTransformer, rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Return the mean cross-entropy of every token of the rows, observations too."""
    ids = padded(rows, pad, torch.long)
    logits = model.logits(model.hidden(ids[:, :-1]))
    return functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=pad)


@dataclass(frozen=True)
class PolicyLoss:
    """A loss with its parts, each a scalar tensor."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    """The mean entropy of the policy in nats at the sampled tokens."""
    clipped: Tensor
    """The share of the weights of tokens whose ratio was clipped."""


def policy_loss(
    model: TinyTransformer,
    rows: Sequence[TrainingRow],
    *,
    clip: float,
    value_weight: float = 0.0,
    entropy_bonus: float = 0.0,
    world_model: float = 0.0,
) -> PolicyLoss:
    """Return the clipped surrogate loss of PPO over sampled tokens, Σ weight · −min(ρA, clip(ρ, 1 ± ε)A).

    Source: Schulman et al., arXiv 1707.06347, equation 7.

    Args:
        model: the policy, with its value head.
        rows: tokens with advantages and weights.
        clip: ε.
        value_weight: of the mean squared error of the value head at the beginning of each response.
        entropy_bonus: of the mean entropy, which it raises.
        world_model: of the mean cross-entropy of the tokens that the environment added between turns.
    """
    ids = padded([row.tokens.token_ids for row in rows], 0, torch.long)
    hidden = model.hidden(ids[:, :-1])
    fields = {
        "old": padded([row.tokens.logprobs for row in rows], 0.0, torch.float32),
        "mask": padded([row.tokens.sampled for row in rows], 0, torch.bool),
        "advantages": padded([row.advantages for row in rows], 0.0, torch.float32),
        "weights": padded([row.weights for row in rows], 0.0, torch.float32),
        "first": padded([row.first for row in rows], 0, torch.bool),
        "returns": padded([row.returns for row in rows], 0.0, torch.float32),
    }
    # Everything belongs to the token that a state predicts.
    fields = {name: tensor[:, 1:] for name, tensor in fields.items()}
    mask, targets = fields["mask"], ids[:, 1:]
    logprobs = model.logits(hidden[mask]).log_softmax(-1)
    new = logprobs.gather(1, targets[mask][:, None]).squeeze(1)
    ratio = (new - fields["old"][mask]).exp()
    advantages, weights = fields["advantages"][mask], fields["weights"][mask]
    bounded = ratio.clamp(1 - clip, 1 + clip)
    policy = -(weights * torch.minimum(ratio * advantages, bounded * advantages)).sum()
    entropy = -(logprobs.exp() * logprobs).sum(-1).mean()
    value = torch.zeros(())
    if value_weight:
        first = fields["first"]
        value = functional.mse_loss(model.values(hidden[first]), fields["returns"][first])
    total = policy + value_weight * value - entropy_bonus * entropy
    if world_model:
        observed = padded([row.tokens.observed for row in rows], 0, torch.bool)[:, 1:]
        if bool(observed.any()):
            total = total + world_model * functional.cross_entropy(model.logits(hidden[observed]), targets[observed])
    clipped = (weights * (ratio != bounded)).sum() / weights.sum().clamp(min=1e-12)
    return PolicyLoss(total, policy.detach(), value.detach(), entropy.detach(), clipped.detach())
