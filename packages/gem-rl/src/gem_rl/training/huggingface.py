"""Models and tokenizers of Hugging Face's transformers in the place of the small ones."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.cache_utils import DynamicCache

from gem.errors import ArgumentError

__all__ = ["HuggingFaceCache", "HuggingFaceModel", "HuggingFaceTokenizer"]

_SEEN, _DONE, _NEXT = "GEMSEENTEXT", "GEMDONETEXT", "GEMNEXTTEXT"
"""Texts that no chat template changes, to find what it puts around a message."""


class HuggingFaceCache:
    """Keys and values of rows to which tokens are added at different positions.

    Each call appends as many slots to all rows as the longest needs. A slot is hidden from its row if the row did not
    need it, belongs to the row's earlier episode, or has been written again: rows whose action has ended are
    extended along with the others, by tokens that are no part of them.
    """

    def __init__(self, rows: int, device: torch.device) -> None:
        self.values = DynamicCache()
        self._places = torch.zeros(rows, 0, dtype=torch.long, device=device)
        """The position in its row of each slot, ``(rows, slots)``; −1 for hidden slots."""

    def select(self, rows: Tensor, kept: Tensor) -> None:
        """Keep these rows alone, in this order; those that are not ``kept`` begin empty."""
        rows, kept = rows.to(self._places.device), kept.to(self._places.device)
        self.values.batch_select_indices(rows)
        self._places = self._places[rows].masked_fill(~kept[:, None], -1)

    def mask(self, places: Tensor) -> Tensor:
        """Append slots for these positions, ``(rows, n)``, and return which slots each row sees, ``(rows, slots)``."""
        earlier = self._places.masked_fill(self._places >= places[:, :1], -1)
        new = places.clone()
        new[:, 1:].masked_fill_(places[:, 1:] == places[:, :-1], -1)  # a row that is shorter repeats its last token
        self._places = torch.cat((earlier, new), dim=1)
        return (self._places >= 0).long()


class HuggingFaceModel(nn.Module):
    """A causal language model with a value head, as the trainer uses :class:`TinyTransformer`.

    Args:
        model: a path or a name, as ``AutoModelForCausalLM.from_pretrained`` takes it.
        context: the largest number of tokens of a row.
    """

    def __init__(self, model: str, context: int) -> None:
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
        self.model.eval()  # without dropout, or the ratios of new and old probabilities would begin off 1
        self.context = min(context, getattr(self.model.config, "max_position_embeddings", None) or context)
        self.value = nn.Linear(self.model.get_output_embeddings().weight.shape[1], 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.value.weight.device

    def new_cache(self, rows: int) -> HuggingFaceCache:
        """Return an empty cache for so many rows."""
        return HuggingFaceCache(rows, self.device)

    def hidden(self, ids: Tensor) -> Tensor:
        """Return the last hidden states of whole rows, ``(rows, length, width)``."""
        result: Tensor = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return result

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token for hidden states ``(…, width)``."""
        result: Tensor = self.model.get_output_embeddings()(states)
        return result

    def values(self, states: Tensor) -> Tensor:
        """Return the value head's estimates, ``(…)``."""
        result: Tensor = self.value(states).squeeze(-1)
        return result

    def extend(self, ids: Tensor, places: Tensor, cache: HuggingFaceCache) -> Tensor:
        """Return the last hidden states of further tokens of rows; see :meth:`TinyTransformer.extend`."""
        result: Tensor = self.model.base_model(
            input_ids=ids,
            position_ids=places,
            attention_mask=cache.mask(places),
            past_key_values=cache.values,
            use_cache=True,
        ).last_hidden_state
        return result


class HuggingFaceTokenizer:
    """The tokenizer of a model, with what its chat template puts around observations and actions.

    Without a template, an observation ends with a line break, and an action with the model's end of text.

    Args:
        model: a path or a name, as ``AutoTokenizer.from_pretrained`` takes it.

    Raises:
        ArgumentError: if the tokenizer has no token that ends a text.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
        if self._tokenizer.eos_token_id is None:
            raise ArgumentError(f"the tokenizer of {model!r} has no end-of-text token, so no action could end")
        self.end = int(self._tokenizer.eos_token_id)
        self._first, self._between, self._after = "", "\n", "\n"
        if getattr(self._tokenizer, "chat_template", None):
            self._read_template()

    def prompt(self, observation: str, first: bool) -> list[int]:
        """Return the tokens of an observation up to where the action begins.

        Args:
            observation: its text.
            first: whether it begins a row; otherwise it follows an action and its end.
        """
        return self._ids((self._first if first else self._between) + observation + self._after)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a bare text."""
        return self._ids(text)

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids without special tokens."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    def to_json(self) -> str:
        """Return how to open the tokenizer again."""
        return json.dumps({"model": self._model})

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _read_template(self) -> None:
        def render(*turns: tuple[str, str]) -> str:
            messages = [{"role": role, "content": content} for role, content in turns]
            return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

        whole = render(("user", _SEEN), ("assistant", _DONE), ("user", _NEXT))
        self._first = whole[: whole.index(_SEEN)]
        self._after = render(("user", _SEEN)).split(_SEEN)[1]
        between = whole[whole.index(_DONE) + len(_DONE) : whole.index(_NEXT)]
        end = self._ids(between)[0]
        marker = str(self._tokenizer.decode([end]))
        if between.startswith(marker) and end in self._tokenizer.all_special_ids:
            self.end, between = end, between[len(marker) :]
        self._between = between
