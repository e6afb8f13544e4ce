"""A tokenizer trained on an environment's own text: :class:`TinyTokenizer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.pre_tokenizers import Sequence as InOrder
from tokenizers.trainers import BpeTrainer

__all__ = ["TinyConversation", "TinyTokenizer"]

_SPECIAL = ("<pad>", "<act>", "<end>")

_APART = r"\\boxed\{|\d+|[{}\[\]()\\]"
"""Numbers and brackets are pieces of their own, so that a number is one token wherever it stands: about twice as fast
to learn as digits, by measurement on GuessTheNumber. All between them may merge, so a fixed phrase is one token. The
beginning of an answer is one too, so that an action has few tokens to sample."""

_LETTERS = r"|(?<![A-Za-z])[A-Z_](?![A-Za-z])"
"""A capital letter or a blank that stands alone. What an observation lists is then what an action names."""


class TinyTokenizer:
    """Byte-level BPE in which a number is one token and a fixed phrase few. Any text survives a round trip.

    Three tokens are special: ``pad``; ``act``, after which the agent acts; ``end``, which ends an action.
    """

    def __init__(self, tokenizer: Tokenizer, spoken: int) -> None:
        self._tokenizer = tokenizer
        self.spoken = spoken
        """The ids below this number occur in the texts that the tokenizer was trained on; a model says no others."""
        tokenizer.encode_special_tokens = True  # an environment that says "<end>" means these five characters
        self.pad, self.act, self.end = (tokenizer.get_vocab()[name] for name in _SPECIAL)

    @classmethod
    def trained_on(cls, texts: Iterable[str], size: int = 1024, *, letters: bool = False) -> TinyTokenizer:
        """Return a tokenizer of the most frequent pieces.

        Args:
            texts: observations and actions, also those that follow illegal and malformed actions: text that the
                tokenizer knows badly costs a token for each byte.
            size: the largest number of tokens; the 256 bytes are among them.
            letters: whether a capital letter that stands alone is one token wherever it stands, as a number is.
        """
        found = list(texts)
        tokenizer = Tokenizer(BPE())
        apart = Regex(_APART + _LETTERS if letters else _APART)
        tokenizer.pre_tokenizer = InOrder(
            [Split(apart, "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        tokenizer.decoder = ByteLevelDecoder()
        trainer = BpeTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=list(_SPECIAL),
            initial_alphabet=sorted(ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator(found, trainer)
        used = {token for text in found for token in tokenizer.encode(text, add_special_tokens=False).tokens}
        description = json.loads(tokenizer.to_str())
        vocabulary = description["model"]["vocab"]
        order = sorted(vocabulary, key=lambda token: (token not in _SPECIAL, token not in used, vocabulary[token]))
        description["model"]["vocab"] = {token: place for place, token in enumerate(order)}
        return cls(Tokenizer.from_str(json.dumps(description)), len(_SPECIAL) + len(used))

    @classmethod
    def from_json(cls, text: str) -> TinyTokenizer:
        """Undo :meth:`to_json`."""
        description = json.loads(text)
        return cls(Tokenizer.from_str(json.dumps(description["tokenizer"])), description["spoken"])

    def to_json(self) -> str:
        """Return ``spoken``, and the tokenizer in the format of Hugging Face's tokenizers."""
        return json.dumps({"spoken": self.spoken, "tokenizer": json.loads(self._tokenizer.to_str())})

    def __len__(self) -> int:
        """Return the number of tokens."""
        return int(self._tokenizer.get_vocab_size())

    def conversation(self) -> TinyConversation:
        """Return the token book of a new episode."""
        return TinyConversation(self)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, which has no special tokens; lone surrogates become U+FFFD."""
        clean = text.encode("utf-8", "replace").decode() if not text.isascii() else text
        return list(self._tokenizer.encode(clean, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; special tokens are left out."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))


class TinyConversation:
    """Observations and actions in turn, with ``act`` between them."""

    def __init__(self, tokenizer: TinyTokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []

    def prompt(self, observation: str) -> list[int]:
        """Return all tokens up to where the action begins."""
        self._ids += [*self._tokenizer.encode(observation), self._tokenizer.act]
        return list(self._ids)

    def note(self, sampled: Sequence[int]) -> None:
        """Receive the tokens of the action."""
        self._ids += sampled
