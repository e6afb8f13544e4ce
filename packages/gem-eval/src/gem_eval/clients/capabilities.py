"""What a model server turned out to give: :class:`Capabilities`."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Capabilities"]


@dataclass(slots=True)
class Capabilities:
    """What is known of a server, from its list of models and from its answers so far. None: not known yet."""

    server: str | None = None
    """``vllm``, ``sglang`` or ``llamacpp``, as its list of models says; None for any other server."""
    token_ids: bool | None = None
    """Answers hold the sampled token ids."""
    prompt_token_ids: bool | None = None
    """Answers hold the token ids of the prompt."""
    logprobs: bool | None = None
    """Answers hold log-probabilities."""
    dropped: set[str] = field(default_factory=set)
    """Fields of requests that the server refused, and that are sent no more."""
    notes: list[str] = field(default_factory=list)
    """What was asked for and is missing, a sentence each."""

    def note(self, sentence: str) -> None:
        """Add a sentence to the notes, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def to_dict(self) -> dict[str, object]:
        """Return the capabilities as JSON values, for the record of a run."""
        return {
            "server": self.server,
            "token_ids": self.token_ids,
            "prompt_token_ids": self.prompt_token_ids,
            "logprobs": self.logprobs,
            "dropped": sorted(self.dropped),
            "notes": list(self.notes),
        }
