"""Environments behind OpenEnv servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gem.arguments import boolean, check_names, integer, string
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
    servers ignore those that they do not know. With ``split``, the server is asked for its number of tasks (the Task
    API), and ``reset`` gets the split and an ``index``: that of the options, or else one that the seed chooses. The
    protocol has no flag for truncation: ``done`` is ``terminated``.
    """

    def __init__(
        self,
        url: str,
        *,
        split: str | None = None,
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
            split: the split of the server's tasks that are played; by default its resets name none.
            action_field: the field that takes the agent's whole text; by default the only field of the schema.
            show_actions: whether the first observation ends with the form of the actions.
            max_turns: turns after which an episode is truncated.
            timeout: seconds for connecting and for each answer.
            max_answer_bytes: size of the largest answer that is read.
            token_variable: the environment variable with a bearer token.
        """
        super().__init__(max_turns, timeout, max_answer_bytes)
        self.url = base_address("url", url)
        self.split = None if split is None else string("split", split)
        self.action_field = None if action_field is None else string("action_field", action_field)
        self.show_actions = boolean("show_actions", show_actions)
        headers = authorization(token_variable)
        self._http = JsonClient(self.url, self.timeout, self.max_answer_bytes, headers)
        self._connection = OpenEnvConnection(self.url, self.timeout, self.max_answer_bytes, headers)
        self._form: OpenEnvActions | None = None
        self._task_count: int | None = None

    def sample_random_action(self) -> Action:
        return self._known_form().sample(self.action_rng)

    def close(self) -> None:
        self._connection.close()
        self._http.close()

    def _begin(self, options: Mapping[str, Any], seed: int | None) -> ForeignTurn:
        check_names("an OpenEnv reset", [name for name in options if not isinstance(name, str)], ())
        given = self.rng.getrandbits(_SEED_BITS) if seed is None else seed
        chosen: dict[str, Any] = {}
        if self.split is not None:
            count = self._tasks(self.split)
            index = integer("index", options.get("index", given % count), minimum=0, maximum=count - 1)
            chosen = {"split": self.split, "index": index}
        begun = turn_of(self._connection.reset({"seed": given, **options, **chosen}))
        if chosen:
            begun.info["index"] = chosen["index"]
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

    def _tasks(self, split: str) -> int:
        """Return the number of tasks of a split.

        Raises:
            BridgeError: if the server says none, or has no such split.
        """
        if self._task_count is None:
            try:
                names = self._http.request("GET", "/list_environments")
                name = quote(str(names[0] if isinstance(names, list) and names else ""), safe=":/")
                known = self._http.request("GET", f"/{name}/splits")
                answer = self._http.request("POST", f"/{name}/num_tasks", {"split": split})
            except BridgeError as error:
                raise BridgeError(f"{self.url} has no tasks to choose from ({error}); leave out the split") from None
            splits = [one.get("name") for one in known if isinstance(one, dict)] if isinstance(known, list) else []
            count = answer.get("num_tasks") if isinstance(answer, dict) else None
            if split not in splits:
                raise BridgeError(f"{self.url} has the splits {', '.join(map(str, splits)) or '(none)'}, not {split!r}")
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise BridgeError(f"{self.url} says that the split {split!r} has {count!r:.60} tasks")
            self._task_count = count
        return self._task_count

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
