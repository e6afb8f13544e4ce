"""Earlier weights of a model: copies of what learns, and the model with these in place of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from gem_rl.training.language_model import LanguageModel

__all__ = ["Weights", "copied_weights", "learning_parameters", "load_weights", "using_weights"]

Weights = Mapping[str, Tensor]
"""Of the parameters that learn, by name."""


def learning_parameters(model: LanguageModel) -> dict[str, nn.Parameter]:
    """Return the parameters that learn, by name: all, or the adapters and the value head."""
    return {name: one for name, one in model.named_parameters() if one.requires_grad}


def copied_weights(model: LanguageModel) -> dict[str, Tensor]:
    """Return a copy of what learns; of a model with adapters that is little."""
    return {name: one.detach().clone() for name, one in learning_parameters(model).items()}


@contextmanager
def using_weights(model: LanguageModel, weights: Weights | None) -> Iterator[None]:
    """Give a model other weights in the block; None leaves its own. The parameters stay the same objects."""
    if weights is None:
        yield
        return
    learning = learning_parameters(model)
    own = {name: one.data for name, one in learning.items()}
    try:
        for name, one in learning.items():
            one.data = weights[name].to(one.device)
        yield
    finally:
        for name, one in learning.items():
            one.data = own[name]


def load_weights(model: LanguageModel, weights: Weights) -> None:
    """Write weights into a model."""
    with torch.no_grad():
        for name, one in learning_parameters(model).items():
            one.copy_(weights[name])
