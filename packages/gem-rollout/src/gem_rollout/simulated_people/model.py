"""The model that plays a person, behind one door: :class:`PersonModel`."""

from __future__ import annotations

from typing import Any

from gem.arguments import string
from gem.errors import ArgumentError
from gem.plugins import lookup
from gem.tools.event_loop import completed
from gem_rollout.simulated_people.faults import UserFault

__all__ = ["SCRIPTED", "PersonModel", "person_address"]

SCRIPTED = "scripted"
"""The address of a person whom no model plays."""


def person_address(name: str, value: Any) -> str:
    """Return ``"scripted"`` or the URL of a model server, an argument of an environment.

    Raises:
        ArgumentError: if it is neither.
    """
    if string(name, value) != SCRIPTED and ":" not in value:
        raise ArgumentError(f"{name} must be {SCRIPTED!r} or the URL of a model server, got {value!r:.80}")
    return str(value)


class PersonModel:
    """Asks a model by its URL; the client is opened at the first question.

    Args:
        address: the URL of a model server, of any installed model client.
        model: the name of the model there; None takes the only one that there is.
    """

    def __init__(self, address: str, model: str | None) -> None:
        self.address, self.model = address, model
        self.client: Any = None
        """The open client; None before the first question."""

    def __call__(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the model's next message; whatever prevents it is raised."""
        if self.client is None:
            factory = lookup("gem_model_clients", self.address.partition(":")[0].lower(), "model client")
            self.client = factory(self.address, model=self.model)
        message: dict[str, Any] = completed(self.client.chat(messages)).message
        return message

    def answered(self, messages: list[dict[str, Any]]) -> dict[str, Any] | UserFault:
        """Return the model's next message. A server that does not answer is no fault of the agent."""
        try:
            return self(messages)
        except Exception as error:
            return UserFault("no answer", f"the user's model gives no answer: {error}"[:300])

    def __getstate__(self) -> dict[str, Any]:
        # A connection belongs to one process.
        return {**self.__dict__, "client": None}

    def close(self) -> None:
        """Close the client; a later question opens another."""
        client, self.client = self.client, None
        if client is not None:
            completed(client.close())
