"""Structured output of a model in this process: which tokens a JSON schema allows next, by the library llguidance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gem.errors import NotSupportedError

__all__ = ["SchemaConstraint", "TokenGrammar"]


class SchemaConstraint:
    """The tokens that may follow in one text of a JSON schema.

    Args:
        matcher: of llguidance, at the beginning of the text.
    """

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def allowed(self) -> bytes:
        """Return one bit for each token, the lowest of a byte first: 1 where it may come next.

        Where the text is complete, only tokens that end it may.
        """
        return bytes(self._matcher.compute_bitmask())

    def accept(self, token: int) -> None:
        """Go on behind a token.

        Raises:
            ValueError: if it may not come next.
        """
        if not self._matcher.consume_token(token):
            raise ValueError(f"the schema does not allow the token {token} here")


class TokenGrammar:
    """The vocabulary of a model as the library takes it: about a second to make, for any number of texts.

    Args:
        tokenizer: a fast tokenizer of ``transformers``.
        vocabulary: as many scores as the model gives.
        ends: ids of the tokens that end a text.

    Raises:
        NotSupportedError: without llguidance, and for a tokenizer that it cannot read.
    """

    def __init__(self, tokenizer: Any, vocabulary: int, ends: Iterable[int]) -> None:
        try:
            import llguidance
            from llguidance.hf import from_tokenizer
        except ImportError as error:
            raise NotSupportedError(
                "structured output of a model in this process needs llguidance; run: pip install "
                '"gem-eval[transformers]"'
            ) from error
        try:
            self._tokens = from_tokenizer(tokenizer, n_vocab=vocabulary, eos_token=sorted(set(ends)))
        except (ValueError, TypeError) as error:
            raise NotSupportedError(f"structured output needs a fast tokenizer: {error}") from error
        self._library: Any = llguidance

    def constraint(self, response_format: Mapping[str, Any]) -> SchemaConstraint:
        """Return the constraint of a ``response_format``, of the type ``json_schema`` or ``json_object``.

        Between the parts of the JSON stands no more space than ``json.dumps`` writes, so a model cannot fill its limit
        with spaces.

        Raises:
            NotSupportedError: for another type, and for a schema with parts that the library does not know.
        """
        kind = response_format.get("type")
        described = response_format.get("json_schema")
        if kind == "json_object":
            schema: Any = {"type": "object"}
        elif kind == "json_schema" and isinstance(described, Mapping) and isinstance(described.get("schema"), Mapping):
            schema = dict(described["schema"])
        else:
            raise NotSupportedError(f"a response_format is a json_schema or a json_object, got {response_format!r:.80}")
        options = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        grammar = self._library.LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=options)
        matcher = self._library.LLMatcher(self._tokens, grammar, log_level=0)
        if matcher.is_error():
            raise NotSupportedError(f"structured output by this schema is not possible: {matcher.get_error():.300}")
        return SchemaConstraint(matcher)
