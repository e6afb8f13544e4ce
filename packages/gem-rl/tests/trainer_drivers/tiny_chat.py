"""A tokenizer of single characters with a chat template in ChatML, for ``transformers``."""

from __future__ import annotations

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
