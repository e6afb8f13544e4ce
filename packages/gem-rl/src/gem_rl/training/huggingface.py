"""Models and tokenizers of Hugging Face's transformers in the place of the small ones."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.cache_utils import DynamicCache
from transformers.utils import logging

from gem.errors import ArgumentError, MissingPluginError
from gem_rl.training.prompt_sharing import pack
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat

__all__ = ["HuggingFaceCache", "HuggingFaceConversation", "HuggingFaceModel", "HuggingFaceTokenizer"]

_MARK = "GEMDONETEXT"
"""Stands for an answer that no chat template changes, to find how one ends."""

_PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n' }}{% endfor %}"
)
"""For tokenizers without a template: lines, of which the model's end with its end of text."""


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
        """Keep these rows alone, in this order; those not ``kept`` begin empty. A row may come several times."""
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
        model: a folder, or a name of the Hugging Face hub.
        context: the largest number of tokens of a row.
        precision: of the weights: ``float32`` or ``bfloat16``.
        lora: the rank of adapters, which then learn in place of the weights; 0 for none.

    Raises:
        ArgumentError: if the model cannot be loaded.
        MissingPluginError: if adapters are wanted and peft is not installed.
    """

    def __init__(self, model: str, context: int, *, precision: str = "float32", lora: int = 0) -> None:
        super().__init__()
        self.model: Any = _loaded(AutoModelForCausalLM, model, dtype=getattr(torch, precision))
        self.adapted: Any = None
        """The model with its adapters, as peft has it; None without."""
        if lora:
            self.adapted = _with_adapters(self.model, lora)
        layers = set(getattr(self.model.config, "layer_types", None) or ["full_attention"])
        # Other layers than those of full attention go by the order of a sequence, and not by its mask.
        self.shares_prompts = layers == {"full_attention"} and not getattr(self.model, "_is_stateful", False)
        self.model.eval()  # without dropout, or the ratios of new and old probabilities would begin off 1
        self.context = min(context, getattr(self.model.config, "max_position_embeddings", None) or context)
        self.value = nn.Linear(self.model.get_output_embeddings().weight.shape[1], 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)
        accepted = inspect.signature(self.model.base_model.forward).parameters
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"  # the name in transformers before 5.24

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.value.weight.device

    def new_cache(self, rows: int) -> HuggingFaceCache:
        """Return an empty cache for so many rows."""
        return HuggingFaceCache(rows, self.device)

    def hidden(self, ids: Tensor, prompts: Sequence[int] | None = None) -> Tensor:
        """Return the last hidden states of whole rows, ``(rows, length, width)``; see :class:`LanguageModel`."""
        packed = pack(ids, prompts) if prompts is not None and self.shares_prompts else None
        if packed is None:
            return self._states(input_ids=ids, use_cache=False)
        states = self._states(
            input_ids=packed.ids, position_ids=packed.places, attention_mask=packed.mask, use_cache=False
        )
        return states.flatten(0, 1)[packed.sources]

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token, as float32, for hidden states ``(…, width)``."""
        result: Tensor = self.model.get_output_embeddings()(states)
        return result.float()

    def values(self, states: Tensor) -> Tensor:
        """Return the value head's estimates, ``(…)``."""
        result: Tensor = self.value(states.float()).squeeze(-1)
        return result

    def extend(self, ids: Tensor, places: Tensor, cache: HuggingFaceCache) -> Tensor:
        """Return the last hidden states of further tokens of rows; see :meth:`TinyTransformer.extend`."""
        return self._states(
            input_ids=ids,
            position_ids=places,
            attention_mask=cache.mask(places),
            use_cache=True,
            **{self._cache_name: cache.values},
        )

    def save_adapters(self, folder: Path) -> None:
        """Write the adapters into a folder, as peft and transformers load them."""
        self.adapted.save_pretrained(folder)

    def _states(self, **inputs: Any) -> Tensor:
        result: Tensor = self.model.base_model(**inputs).last_hidden_state
        return result


class HuggingFaceConversation:
    """The exact tokens of an episode in a model's chat template, by :class:`SampledPrompt`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._prompt = SampledPrompt(tokenizer)
        self._messages: list[dict[str, Any]] = []

    def prompt(self, observation: str) -> list[int]:
        """Return all tokens up to where the action begins."""
        self._messages.append({"role": "user", "content": observation})
        return self._prompt.extend(self._messages)

    def note(self, sampled: Sequence[int]) -> None:
        """Receive the tokens of the action."""
        self._prompt.note(sampled)
        said = str(self._tokenizer.decode(list(sampled), skip_special_tokens=True))
        self._messages.append({"role": "assistant", "content": said})


class HuggingFaceTokenizer:
    """The tokenizer of a model, with its chat template.

    Without a template, an observation ends with a line break, and an action with the model's end of text.

    Args:
        model: a folder, or a name of the Hugging Face hub.

    Raises:
        ArgumentError: if it cannot be loaded, or has no token that ends a text.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._tokenizer: Any = _loaded(AutoTokenizer, model)
        if self._tokenizer.eos_token_id is None:
            raise ArgumentError(f"the tokenizer of {model!r} has no end-of-text token, so no action could end")
        if not getattr(self._tokenizer, "chat_template", None):
            self._tokenizer.chat_template = _PLAIN_TEMPLATE
        self.end = self._end_of_answer()

    @property
    def codec(self) -> Any:
        """The tokenizer itself, for what renders conversations with tools."""
        return self._tokenizer

    def conversation(self) -> HuggingFaceConversation:
        """Return the token book of a new episode."""
        return HuggingFaceConversation(self._tokenizer)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a bare text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids without special tokens."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    def to_json(self) -> str:
        """Return how to open the tokenizer again."""
        return json.dumps({"model": self._model})

    def _end_of_answer(self) -> int:
        """Return the special token that the template puts after an answer, or that of the end of a text."""
        messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": _MARK}]
        after = self.encode(render_chat(self._tokenizer, messages, {}, opened=False).rpartition(_MARK)[2])
        found = after[0] if after and after[0] in self._tokenizer.all_special_ids else self._tokenizer.eos_token_id
        return int(found)


def _loaded(kind: Any, model: str, **options: Any) -> Any:
    """Return a part of a model as transformers loads it, without its progress bar.

    Raises:
        ArgumentError: if there is no such model, or it cannot be loaded.
    """
    if not Path(model).expanduser().is_dir() and model.startswith((".", "/", "~")):
        raise ArgumentError(f"there is no folder {model!r} with a model; name one that transformers can load")
    shows_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return kind.from_pretrained(model, **options)
    except Exception as error:  # of many kinds: files, formats, names
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ArgumentError(f"the model {model!r} cannot be loaded: {reason[:300]}") from error
    finally:
        if shows_bars:
            logging.enable_progress_bar()


def _with_adapters(model: Any, rank: int) -> Any:
    """Put adapters into all linear layers of a model but the last, and let them alone learn."""
    try:
        import peft
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            f"adapters (lora) need the library {error.name}; run: pip install 'gem-rl[lora]'"
        ) from error
    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about what the one library calls of the other
        return peft.get_peft_model(model, config)
