"""A small decoder-only transformer with a cache of keys and values."""

from __future__ import annotations

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

    def __post_init__(self) -> None:
        if self.width % (2 * self.heads):
            raise ArgumentError(f"width must be a multiple of 2 · heads, got {self.width} and {self.heads} heads")


class KeyValueCache:
    """Keys and values of R rows, one for each episode.

    Args:
        size: of the model.
        rows: R.
        length: positions for which there is room at first; it grows as needed.
    """

    def __init__(self, size: ModelSize, rows: int, length: int = 64) -> None:
        self.size = size
        shape = (size.layers, 2, rows, size.heads, length, size.width // size.heads)
        self.values = torch.zeros(shape)

    def rows(self, indices: Tensor, length: int) -> Tensor:
        """Return a copy of some rows with room for a number of positions: (layers, 2, rows, heads, length, width)."""
        self._grow(length)
        return self.values[:, :, indices, :, :length].contiguous()

    def store(self, indices: Tensor, values: Tensor) -> None:
        """Put rows back that :meth:`rows` returned and the model has written to."""
        self.values[:, :, indices, :, : values.shape[4]] = values

    def _grow(self, length: int) -> None:
        old = self.values.shape[4]
        if length > old:
            new = min(max(length, 2 * old), self.size.context)
            self.values = functional.pad(self.values, (0, 0, 0, new - old))


class _Block(nn.Module):
    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.heads = size.heads
        self.before_attention = nn.RMSNorm(size.width)
        self.to_heads = nn.Linear(size.width, 3 * size.width, bias=False)
        self.from_heads = nn.Linear(size.width, size.width, bias=False)
        self.before_mlp = nn.RMSNorm(size.width)
        self.mlp = nn.Sequential(
            nn.Linear(size.width, 4 * size.width), nn.GELU(), nn.Linear(4 * size.width, size.width)
        )

    def forward(
        self, states: Tensor, rotation: Tensor, mask: Tensor | None, cache: Tensor | None, places: Tensor | None
    ) -> Tensor:
        rows, length, width = states.shape
        heads = self.to_heads(self.before_attention(states)).view(rows, length, 3, self.heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        query, key = _rotated(query, rotation), _rotated(key, rotation)
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
    """Rotary positions, RMS norms before attention and MLP, tied embeddings, and a linear value head.

    Args:
        size: of the model.
    """

    rotations: Tensor

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(size.vocabulary, size.width)
        self.blocks = nn.ModuleList(_Block(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.width)
        self.value = nn.Linear(size.width, 1)
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)
        half = size.width // size.heads // 2
        speeds = _ROTARY_BASE ** (-torch.arange(half) / half)
        angles = torch.arange(size.context)[:, None] * speeds
        self.register_buffer("rotations", torch.stack((angles.cos(), angles.sin())), persistent=False)

    def hidden(self, ids: Tensor) -> Tensor:
        """Return the last hidden states of whole rows from their beginning.

        Args:
            ids: ``(rows, length)``; what follows a row's end may be anything.

        Returns:
            ``(rows, length, width)``.
        """
        rotation = self.rotations[:, : ids.shape[1]][:, None, None]
        states = self.embedding(ids)
        for block in self.blocks:
            states = block(states, rotation, None, None, None)
        result: Tensor = self.norm(states)
        return result

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token, ``(…, vocabulary)``, for hidden states ``(…, width)``."""
        return functional.linear(states, self.embedding.weight)

    def values(self, states: Tensor) -> Tensor:
        """Return the value head's estimates, ``(…)``, for hidden states ``(…, width)``."""
        result: Tensor = self.value(states).squeeze(-1)
        return result

    def extend(self, ids: Tensor, places: Tensor, cache: Tensor) -> Tensor:
        """Return the last hidden states of further tokens of rows, and write their keys and values into the cache.

        Args:
            ids: ``(rows, n)``, the next tokens of each row.
            places: ``(rows, n)``, their positions in the rows. A row with fewer than n tokens repeats its last one.
            cache: of these rows, from :meth:`KeyValueCache.rows`, with room for every position.

        Returns:
            ``(rows, n, width)``.
        """
        rotation = self.rotations[:, places][:, :, None]
        mask = torch.arange(cache.shape[4]) <= places[:, None, :, None]
        states = self.embedding(ids)
        for layer, block in enumerate(self.blocks):
            states = block(states, rotation, mask, cache[layer], places)
        result: Tensor = self.norm(states)
        return result


def _rotated(states: Tensor, rotation: Tensor) -> Tensor:
    """Return states ``(rows, heads, n, width)`` with each pair of coordinates turned by its position's angle.

    Source: Su et al., arXiv 2104.09864, in the form that pairs the first half with the second.
    """
    cosine, sine = rotation[0], rotation[1]
    first, second = states.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
