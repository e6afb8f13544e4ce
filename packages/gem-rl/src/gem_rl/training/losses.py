"""What the trainer minimises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from gem_rl.training.episode_rows import TextRow, TrainingRow, by_length, padded
from gem_rl.training.language_model import LanguageModel
from gem_rl.training.prompt_sharing import by_prompt
from gem_rl.turn_batch import Floats

__all__ = ["PolicyLoss", "PolicyObjective", "text_loss"]

_IGNORED = -1


def text_loss(model: LanguageModel, rows: Sequence[TextRow], *, actions: bool = False) -> Tensor:
    """Return the summed cross-entropy of the tokens of rows.

    Args:
        model: what learns.
        rows: whole episodes.
        actions: whether the agent's tokens alone count; otherwise every token but the first, observations too.
    """
    ids = padded([row.ids for row in rows], _IGNORED, torch.long, model.device)
    hidden, targets = model.hidden(ids[:, :-1].clamp(min=0)), ids[:, 1:]
    if actions:
        acted = padded([row.acted for row in rows], 0, torch.bool, model.device)[:, 1:]
        hidden, targets = hidden[acted][None], targets[acted][None]
    logits = model.logits(hidden)
    targets = _spoken(targets, logits)
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction="sum")


@dataclass(frozen=True)
class PolicyLoss:
    """A loss with its parts, each a scalar tensor: the sums over the rows of a part of a minibatch."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    """The entropy of the policy in nats at the sampled tokens."""
    clipped: Tensor
    """The share of the weights of tokens whose ratio was clipped."""


@dataclass(frozen=True)
class PolicyObjective:
    """The clipped surrogate loss of PPO over sampled tokens, Σ weight · −min(ρA, clip(ρ, 1 ± ε)A), with its additions.

    Source: Schulman et al., arXiv 1707.06347, equation 7.

    Args:
        clip: ε.
        value_weight: of the mean squared error of the value head at the beginning of each response.
        entropy_bonus: of the mean entropy, which it raises.
        world_model: of the mean cross-entropy of the tokens that the environment added between turns.
    """

    clip: float
    value_weight: float = 0.0
    entropy_bonus: float = 0.0
    world_model: float = 0.0

    def parts(self, model: LanguageModel, rows: Sequence[TrainingRow]) -> Iterator[PolicyLoss]:
        """Yield the losses of a minibatch, rows of similar lengths together; the loss of the minibatch is their sum.

        Call ``backward`` on each before the next is computed: it needs the memory of one at a time. Rows without
        advantage, such as those of a group of equal returns, are computed only where something else is learnt from
        them; figures are means over the rows that are computed.
        """
        if not (self.value_weight or self.entropy_bonus or self.world_model):
            rows = [row for row in rows if row.advantages.any()]
        sampled = max(1, sum(int(row.tokens.sampled.sum()) for row in rows))
        responses = max(1.0, sum(float(row.first.sum()) for row in rows))
        observed = max(1, sum(int(row.tokens.observed.sum()) for row in rows))
        weight = max(1e-12, sum(float(row.weights.sum()) for row in rows))
        for chunk in by_prompt(rows) if model.shares_prompts else by_length(rows):
            yield self._loss(model, chunk, sampled, responses, observed, weight)

    def _loss(
        self,
        model: LanguageModel,
        rows: Sequence[TrainingRow],
        sampled: int,
        responses: float,
        observed: int,
        weight: float,
    ) -> PolicyLoss:
        device = model.device
        ids = padded([row.tokens.token_ids for row in rows], 0, torch.long, device)
        hidden = model.hidden(ids[:, :-1], [len(row.prompt) for row in rows])
        # Everything belongs to the token that a state predicts.
        targets = ids[:, 1:]
        mask = padded([row.tokens.sampled for row in rows], 0, torch.bool, device)[:, 1:]

        def of_samples(arrays: Sequence[Floats]) -> Tensor:
            return padded(arrays, 0.0, torch.float32, device)[:, 1:][mask]

        logprobs = model.logits(hidden[mask]).log_softmax(-1)
        new = logprobs.gather(1, targets[mask][:, None]).squeeze(1)
        ratio = (new - of_samples([row.tokens.logprobs for row in rows])).exp()
        advantages, weights = of_samples([row.advantages for row in rows]), of_samples([row.weights for row in rows])
        bounded = ratio.clamp(1 - self.clip, 1 + self.clip)
        policy = -(weights * torch.minimum(ratio * advantages, bounded * advantages)).sum()
        entropy = -(logprobs.exp() * logprobs).sum() / sampled
        value = torch.zeros((), device=device)
        if self.value_weight:
            first = padded([row.first for row in rows], 0, torch.bool, device)[:, 1:]
            returns = padded([row.returns for row in rows], 0.0, torch.float32, device)[:, 1:]
            value = functional.mse_loss(model.values(hidden[first]), returns[first], reduction="sum") / responses
        total = policy + self.value_weight * value - self.entropy_bonus * entropy
        if self.world_model:
            seen = padded([row.tokens.observed for row in rows], 0, torch.bool, device)[:, 1:]
            logits = model.logits(hidden[seen])
            error = functional.cross_entropy(
                logits, _spoken(targets[seen], logits), ignore_index=_IGNORED, reduction="sum"
            )
            total = total + self.world_model * error / observed
        clipped = (weights * (ratio != bounded)).sum() / weight
        return PolicyLoss(total, policy.detach(), value.detach(), entropy.detach(), clipped.detach())


def _spoken(targets: Tensor, logits: Tensor) -> Tensor:
    """Return targets without those that the model cannot say."""
    return targets.masked_fill(targets >= logits.shape[-1], _IGNORED)
