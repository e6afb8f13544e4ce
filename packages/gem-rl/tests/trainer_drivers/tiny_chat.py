"""A tokenizer of single characters with a chat template in ChatML, and a random model, for ``transformers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokenizers
import transformers

CHATML = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}"
)


def tiny_tokenizer(template: str = CHATML) -> Any:
    """Return the tokenizer with a template."""
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    pieces = [*special, *map(chr, range(32, 127)), "\n"]
    words = tokenizers.models.WordLevel({piece: place for place, piece in enumerate(pieces)}, unk_token="?")
    made = tokenizers.Tokenizer(words)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    made.decoder = tokenizers.decoders.Fuse()
    made.add_special_tokens(special)
    found = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="left"
    )
    found.chat_template = template
    return found


def save_model(folder: Path, tokenizer: Any, width: int, spread: float = 0.02) -> str:
    """Write a random model for a tokenizer, the same each time, and return its folder.

    Args:
        folder: where it goes.
        tokenizer: what it reads.
        width: of its states.
        spread: the standard deviation of its embeddings.
    """
    import torch  # which the drivers of trainers without it do not need

    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    made = transformers.Qwen3ForCausalLM(config)
    torch.nn.init.normal_(made.get_input_embeddings().weight, std=spread)
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
