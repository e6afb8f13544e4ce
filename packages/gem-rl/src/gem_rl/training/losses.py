"""What the trainer minimises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gem_rl.training.episode_rows import TextRow, TrainingRow, by_length, padded
from gem_rl.training.language_model import LanguageModel
from gem_rl.training.prompt_sharing import by_prompt
from gem_rl.turn_batch import Floats

__all__ = ["PolicyLoss", "PolicyObjective", "text_loss", "with_reference"]

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


@torch.inference_mode()
def with_reference(model: LanguageModel, rows: Sequence[TrainingRow]) -> list[TrainingRow]:
    """Return the rows, in their order, with the model's log-probabilities as those of the reference."""
    found: dict[int, TrainingRow] = {}
    for chunk in _chunks(model, rows):
        sampled = _sampled(model, chunk)
        logprobs = sampled.logprobs.gather(1, sampled.targets[sampled.mask][:, None]).squeeze(1)
        values = torch.zeros(sampled.mask.shape, dtype=torch.float64)
        values[sampled.mask.cpu()] = logprobs.double().cpu()
        for place, row in enumerate(chunk):
            of_row = values[place, : len(row) - 1].numpy()
            found[id(row)] = replace(row, reference=np.concatenate(([0.0], of_row)))
    return [found[id(row)] for row in rows]


@dataclass(frozen=True)
class _Sampled:
    """What a model says of a chunk of rows, each value at the place of the token before."""

    hidden: Tensor
    targets: Tensor
    mask: Tensor
    """Which targets were sampled."""
    logprobs: Tensor
    """``(sampled, vocabulary)``"""


def _sampled(model: LanguageModel, rows: Sequence[TrainingRow]) -> _Sampled:
    ids = padded([row.tokens.token_ids for row in rows], 0, torch.long, model.device)
    hidden = model.hidden(ids[:, :-1], [len(row.prompt) for row in rows])
    mask = padded([row.tokens.sampled for row in rows], 0, torch.bool, model.device)[:, 1:]
    return _Sampled(hidden, ids[:, 1:], mask, model.logits(hidden[mask]).log_softmax(-1))


def _chunks(model: LanguageModel, rows: Sequence[TrainingRow]) -> Iterator[list[TrainingRow]]:
    """Yield rows that are computed together."""
    return by_prompt(rows) if model.shares_prompts else by_length(rows)


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
    divergence: Tensor
    """The estimate of the divergence from the reference in nats a token, by the weights of the tokens."""


@dataclass(frozen=True)
class PolicyObjective:
    """The clipped surrogate loss of PPO over sampled tokens, Σ weight · −min(ρA, clip(ρ, 1 ± ε)A), with its additions.

    Source: Schulman et al., arXiv 1707.06347, equation 7; of the divergence: Shao et al., arXiv 2402.03300, equation 4,
    π_ref/π − log(π_ref/π) − 1.

    Args:
        clip: ε.
        value_weight: of the mean squared error of the value head at the beginning of each response.
        entropy_bonus: of the mean entropy, which it raises.
        world_model: of the mean cross-entropy of the tokens that the environment added between turns.
        kl_weight: of the divergence from the reference at each token, which counts by the token's weight; the rows then
            have a reference, see :func:`with_reference`.
    """

    clip: float
    value_weight: float = 0.0
    entropy_bonus: float = 0.0
    world_model: float = 0.0
    kl_weight: float = 0.0

    def parts(self, model: LanguageModel, rows: Sequence[TrainingRow]) -> Iterator[PolicyLoss]:
        """Yield the losses of a minibatch, rows of similar lengths together; the loss of the minibatch is their sum.

        Call ``backward`` on each before the next is computed: it needs the memory of one at a time. Rows without
        advantage, such as those of a group of equal returns, are computed only where something else is learnt from
        them; figures are means over the rows that are computed.
        """
        if not (self.value_weight or self.entropy_bonus or self.world_model or self.kl_weight):
            rows = [row for row in rows if row.advantages.any()]
        sampled = max(1, sum(int(row.tokens.sampled.sum()) for row in rows))
        responses = max(1.0, sum(float(row.first.sum()) for row in rows))
        observed = max(1, sum(int(row.tokens.observed.sum()) for row in rows))
        weight = max(1e-12, sum(float(row.weights.sum()) for row in rows))
        for chunk in _chunks(model, rows):
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
        # Everything belongs to the token that a state predicts.
        found = _sampled(model, rows)
        hidden, targets, mask, logprobs = found.hidden, found.targets, found.mask, found.logprobs

        def of_samples(arrays: Sequence[Floats]) -> Tensor:
            return padded(arrays, 0.0, torch.float32, device)[:, 1:][mask]

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
        divergence = torch.zeros((), device=device)
        if self.kl_weight:
            behind = of_samples([row.reference for row in rows if row.reference is not None]) - new
            divergence = (weights * (behind.exp() - behind - 1)).sum()
            total = total + self.kl_weight * divergence
        clipped = (weights * (ratio != bounded)).sum() / weight
        parts = (policy, value, entropy, clipped, divergence / weight)
        return PolicyLoss(total, *(part.detach() for part in parts))


def _spoken(targets: Tensor, logits: Tensor) -> Tensor:
    """Return targets without those that the model cannot say."""
    return targets.masked_fill(targets >= logits.shape[-1], _IGNORED)
