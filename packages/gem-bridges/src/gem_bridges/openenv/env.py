"""Environments behind OpenEnv servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import boolean, check_names, string
from gem.core import Action
from gem_bridges.addresses import base_address
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn, MalformedActionError
from gem_bridges.foreign_server_env import ForeignServerEnv
from gem_bridges.http_json import JsonClient, RefusedError, authorization
from gem_bridges.messages import with_text
from gem_bridges.openenv.actions import OpenEnvActions
from gem_bridges.openenv.connection import OpenEnvConnection, ServerRefusal
from gem_bridges.openenv.observations import turn_of

__all__ = ["OpenEnvEnv"]

_SEED_BITS = 31  # of a seed that the bridge draws: servers hand it to generators that take no more


class OpenEnvEnv(ForeignServerEnv):
    """An environment of an OpenEnv server (protocol of openenv 0.10), one session for each instance.

    An action is a JSON object with the fields of the server's schema; where there is one field to fill, the plain text
    is its value. The first observation ends with the form of the actions, unless ``show_actions`` is false.

    Reset options are passed to the server's ``reset``, where they are keyword arguments of the environment;
    servers ignore those that they do not know. The protocol has no flag for truncation: ``done`` is ``terminated``.
    """

    def __init__(
        self,
        url: str,
        *,
        action_field: str | None = None,
        show_actions: bool = True,
        max_turns: int = 200,
        timeout: float = 60.0,
        max_answer_bytes: int = 16 * 2**20,
        token_variable: str | None = None,
    ) -> None:
        """Contact no server yet.

        Args:
            url: the server's address, such as ``http://localhost:8000``.
            action_field: the field that takes the agent's whole text; by default the only field of the schema.
            show_actions: whether the first observation ends with the form of the actions.
            max_turns: turns after which an episode is truncated.
            timeout: seconds for connecting and for each answer.
            max_answer_bytes: size of the largest answer that is read.
            token_variable: the environment variable with a bearer token.
        """
        super().__init__(max_turns, timeout, max_answer_bytes)
        self.url = base_address("url", url)
        self.action_field = None if action_field is None else string("action_field", action_field)
        self.show_actions = boolean("show_actions", show_actions)
        headers = authorization(token_variable)
        self._http = JsonClient(self.url, self.timeout, self.max_answer_bytes, headers)
        self._connection = OpenEnvConnection(self.url, self.timeout, self.max_answer_bytes, headers)
        self._form: OpenEnvActions | None = None

    def sample_random_action(self) -> Action:
        return self._known_form().sample(self.action_rng)

    def close(self) -> None:
        self._connection.close()
        self._http.close()

    def _begin(self, options: Mapping[str, Any], seed: int | None) -> ForeignTurn:
        check_names("an OpenEnv reset", [name for name in options if not isinstance(name, str)], ())
        given = self.rng.getrandbits(_SEED_BITS) if seed is None else seed
        begun = turn_of(self._connection.reset({"seed": given, **options}))
        if self.show_actions:
            begun.observation = with_text(begun.observation, self._known_form().describe())
        return begun

    def _play(self, action: Action) -> ForeignTurn:
        fields = self._known_form().parse(action)
        try:
            return turn_of(self._connection.request("step", fields))
        except ServerRefusal as refusal:
            if refusal.code == "VALIDATION_ERROR":
                raise MalformedActionError(f"{refusal}. {self._known_form().describe()}") from None
            raise

    def _drop(self) -> None:
        self._connection.drop()

    def _known_form(self) -> OpenEnvActions:
        if self._form is None:
            form = OpenEnvActions.of(self._action_schema(), self.action_field)
            if form.calls_tools:
                answer = self._connection.request("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
                result = answer.get("result")
                form = OpenEnvActions.of(
                    form.schema, self.action_field, result.get("tools") if isinstance(result, dict) else ()
                )
            self._form = form
        return self._form

    def _action_schema(self) -> Any:
        """Return the JSON schema of actions; an empty one if the server has none."""
        try:
            answer = self._http.request("GET", "/schema")
        except RefusedError as error:
            if error.status == 404:
                return {}
            raise
        if not isinstance(answer, dict):
            raise BridgeError(f"{self.url}/schema answered outside the protocol: {answer!r:.300}")
        return answer.get("action", {})
