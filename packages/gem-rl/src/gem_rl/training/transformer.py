"""A small decoder-only transformer with a cache of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from gem.errors import ArgumentError

__all__ = ["KeyValueCache", "ModelSize", "TinyTransformer"]

_ROTARY_BASE = 10_000.0


@dataclass(frozen=True)
class ModelSize:
    """The size of a model."""

    vocabulary: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 512
    """The largest number of tokens of a row."""
    spoken: int | None = None
    """The ids below this number can be sampled; all by default. The fewer, the cheaper is the last layer."""

    def __post_init__(self) -> None:
        if self.width % (2 * self.heads):
            raise ArgumentError(f"width must be a multiple of 2 · heads, got {self.width} and {self.heads} heads")


class KeyValueCache:
    """Keys and values of R rows, one for each episode.

    Args:
        size: of the model.
        rows: R.
        length: positions for which there is room at first; it grows as needed.
        device: of the model.
    """

    def __init__(self, size: ModelSize, rows: int, length: int = 64, device: torch.device | None = None) -> None:
        self.size = size
        shape = (size.layers, 2, rows, size.heads, length, size.width // size.heads)
        self._values = torch.zeros(shape, device=device)

    def select(self, rows: Tensor, kept: Tensor) -> None:
        """Keep these rows alone, in this order; the others are written from their first position on."""
        self._values = self._values[:, :, rows]

    def room(self, length: int) -> Tensor:
        """Return the cache with room for a number of positions: (layers, 2, rows, heads, length, width)."""
        old = self._values.shape[4]
        if length > old:
            new = min(max(length, old + old // 2), self.size.context)
            self._values = functional.pad(self._values, (0, 0, 0, new - old))
        return self._values[..., :length, :]


class _Block(nn.Module):
    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.heads = size.heads
        self.before_attention = nn.LayerNorm(size.width, bias=False)
        self.to_heads = nn.Linear(size.width, 3 * size.width, bias=False)
        self.from_heads = nn.Linear(size.width, size.width, bias=False)
        self.before_mlp = nn.LayerNorm(size.width, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(size.width, 4 * size.width), nn.GELU(), nn.Linear(4 * size.width, size.width)
        )

    def forward(
        self, states: Tensor, rotation: Tensor, mask: Tensor | None, cache: Tensor | None, places: Tensor | None
    ) -> Tensor:
        rows, length, width = states.shape
        heads = self.to_heads(self.before_attention(states)).view(rows, length, 3, self.heads, -1)
        query, key = _rotated(heads[:, :, :2], rotation).permute(2, 0, 3, 1, 4)
        value = heads[:, :, 2].transpose(1, 2)
        if cache is None or places is None:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            index = places[:, None, :, None].expand_as(key)
            cache[0].scatter_(2, index, key)
            cache[1].scatter_(2, index, value)
            mixed = functional.scaled_dot_product_attention(query, cache[0], cache[1], attn_mask=mask)
        states = states + self.from_heads(mixed.transpose(1, 2).reshape(rows, length, width))
        result: Tensor = states + self.mlp(self.before_mlp(states))
        return result


class TinyTransformer(nn.Module):
    """Rotary positions, norms before attention and MLP, tied embeddings, and a linear value head.

    Args:
        size: of the model.
    """

    rotations: Tensor
    shares_prompts = False

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.size = size
        self.context = size.context
        self.embedding = nn.Embedding(size.vocabulary, size.width)
        self.blocks = nn.ModuleList(_Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width, bias=False)
        self.value = nn.Linear(size.width, 1)
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)
        half = size.width // size.heads // 2
        speeds = _ROTARY_BASE ** (-torch.arange(half) / half)
        angles = torch.arange(size.context)[:, None] * speeds
        self.register_buffer("rotations", torch.polar(torch.ones_like(angles), angles), persistent=False)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device

    def new_cache(self, rows: int) -> KeyValueCache:
        """Return an empty cache for so many rows."""
        return KeyValueCache(self.size, rows, device=self.device)

    def hidden(self, ids: Tensor, prompts: Sequence[int] | None = None) -> Tensor:
        """Return the last hidden states of whole rows from their beginning.

        Args:
            ids: ``(rows, length)``; what follows a row's end may be anything.
            prompts: makes no difference; prompts of a model so small cost less than to find the equal ones.

        Returns:
            ``(rows, length, width)``.
        """
        rotation = self.rotations[: ids.shape[1], None, None]
        states = self.embedding(ids)
        for block in self.blocks:
            states = block(states, rotation, None, None, None)
        result: Tensor = self.norm(states)
        return result

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token, ``(…, spoken)``, for hidden states ``(…, width)``."""
        return functional.linear(states, self.embedding.weight[: self.size.spoken])

    def values(self, states: Tensor) -> Tensor:
        """Return the value head's estimates, ``(…)``, for hidden states ``(…, width)``."""
        result: Tensor = self.value(states).squeeze(-1)
        return result

    def extend(self, ids: Tensor, places: Tensor, cache: KeyValueCache) -> Tensor:
        """Return the last hidden states of further tokens of rows, and write their keys and values into the cache.

        Args:
            ids: ``(rows, n)``, the next tokens of each row.
            places: ``(rows, n)``, their positions in the rows. A row with fewer than n tokens repeats its last one.
            cache: of these rows, with what came before.

        Returns:
            ``(rows, n, width)``.
        """
        cached = cache.room(int(places.max()) + 1)
        rotation = self.rotations[places][:, :, None, None]
        mask = torch.arange(cached.shape[4], device=ids.device) <= places[:, None, :, None]
        states = self.embedding(ids)
        for layer, block in enumerate(self.blocks):
            states = block(states, rotation, mask, cached[layer], places)
        result: Tensor = self.norm(states)
        return result


def _rotated(states: Tensor, rotation: Tensor) -> Tensor:
    """Return states ``(…, width)`` with each pair of neighbouring coordinates turned by its position's angle.

    Source: Su et al., arXiv 2104.09864, section 3.2. One multiplication of complex numbers takes a sixth of the time of
    the same sums of products.
    """
    pairs = torch.view_as_complex(states.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2)
