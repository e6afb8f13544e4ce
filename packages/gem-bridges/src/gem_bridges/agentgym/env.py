"""Environments behind AgentGym's HTTP servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from gem.arguments import check_names, choice, integer, string
from gem.core import Action
from gem_bridges.addresses import base_address
from gem_bridges.agentgym.dialects import DIALECTS, ServerDialect, recognised
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn, MalformedActionError, text_of_action
from gem_bridges.foreign_server_env import ForeignServerEnv, reward_of
from gem_bridges.http_json import JsonClient, RefusedError, authorization

__all__ = ["AgentGymEnv"]

_IDLE = ("inventory", "look around", "wait")
_GOALS = ("task_description", "object")  # fields of a reset's answer with the task, in ScienceWorld and WebArena
_LISTED = re.compile(r"Available actions: (\[.*\])")  # the end of BabyAI's observations


class AgentGymEnv(ForeignServerEnv):
    """An environment of an AgentGym server, one session for each instance.

    The text after the last ``Action:`` at the beginning of a line is the action; for WebArena, the last text in triple
    backticks. Servers do not look for it themselves.

    The task is ``options={"task": n}``, or else one of ``tasks`` that the seed chooses. No server says how many it has;
    many take any number, the others answer a number that is too large with an error. Sessions of servers without
    ``close`` are used again by the next episode, and stay in the server until it ends.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str | None = None,
        tasks: int = 100,
        instructions: str | None = None,
        max_turns: int = 50,
        timeout: float = 60.0,
        max_answer_bytes: int = 16 * 2**20,
        token_variable: str | None = None,
    ) -> None:
        """Contact no server yet.

        Args:
            url: the environment's address, such as ``http://localhost:36001`` or ``http://localhost:36002/maze``.
            dialect: a name of :data:`gem_bridges.agentgym.dialects.DIALECTS`; by default the one that the server
                describes.
            tasks: the seed chooses a task below this number.
            instructions: put before the first observation; by default the form of actions.
            max_turns: turns after which an episode is truncated.
            timeout: seconds for each answer.
            max_answer_bytes: size of the largest answer that is read.
            token_variable: the environment variable with a bearer token, for servers behind a proxy that wants one.
        """
        super().__init__(max_turns, timeout, max_answer_bytes)
        self.url = base_address("url", url)
        self.dialect = None if dialect is None else choice("dialect", dialect, DIALECTS)
        self.tasks = integer("tasks", tasks, minimum=1)
        self.instructions = None if instructions is None else string("instructions", instructions)
        self._http = JsonClient(self.url, self.timeout, self.max_answer_bytes, authorization(token_variable))
        self._session: int | None = None
        self._available: list[str] = []

    def sample_random_action(self) -> Action:
        return self.action_rng.choice(self._available or _IDLE)

    def close(self) -> None:
        self._end_session()
        self._http.close()

    def _begin(self, options: Mapping[str, Any], seed: int | None) -> ForeignTurn:
        check_names("an AgentGym reset", options, ("task",))
        drawn = self.rng.randrange(self.tasks)
        task = integer("options['task']", options["task"], minimum=0) if "task" in options else drawn
        known = self._known_dialect()
        reused = self._session is not None
        try:
            answer = self._reset(known, task)
        except BridgeError:
            if not reused:
                raise
            # A server that was started again does not know the session of the last episode.
            self._end_session()
            answer = self._reset(known, task)
        if isinstance(answer, list):  # WebShop and SQLGym answer with a pair
            answer = answer[0] if answer else None
        if isinstance(answer, str):
            answer = {"observation": answer}
        begun = self._turn_of(answer, "observation")
        begun.reward, begun.extra = 0.0, {**begun.extra, "task": task}
        instructions = self.instructions
        if instructions is None:
            instructions = f"{known.hint}\n{known.form}" if known.hint else known.form
        goals = [begun.extra[name] for name in _GOALS if isinstance(begun.extra.get(name), str)]
        begun.observation = "\n\n".join(part for part in (instructions, *goals, begun.observation) if part)
        return begun

    def _play(self, action: Action) -> ForeignTurn:
        known = self._known_dialect()
        text = text_of_action(action)
        marked = known.mark.findall(text)
        body = {known.id_field: self._session, "action": (marked[-1] if marked else text).strip()}
        try:
            answer = self._http.request("POST", "/step", body)
        except RefusedError as error:
            if error.status == 422:
                raise MalformedActionError(str(error)) from None
            raise
        return self._turn_of(answer, known.observation_field)

    def _drop(self) -> None:
        self._end_session()

    def _reset(self, known: ServerDialect, task: int) -> Any:
        if self._session is None:
            created = self._post("/create", {"id": task} if known.created_with_task else {})
            session = created.get(known.id_field) if isinstance(created, dict) else created
            if not isinstance(session, int) or isinstance(session, bool):
                raise BridgeError(f"{self.url}/create answered with no session: {created!r:.300}")
            self._session = session
        return self._post("/reset", {known.id_field: self._session, known.task_field: task, **known.reset_fields})

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._http.request("POST", path, body)
        if isinstance(answer, dict) and "error" in answer:
            raise BridgeError(f"{self.url}{path} answered with an error: {str(answer['error'])[:1000]}")
        return answer

    def _turn_of(self, answer: Any, observation_field: str) -> ForeignTurn:
        if isinstance(answer, dict) and "error" in answer and observation_field not in answer:
            raise BridgeError(f"{self.url} answered with an error: {str(answer['error'])[:1000]}")
        text = answer.get(observation_field) if isinstance(answer, dict) else None
        terminated = answer.get("terminated", answer.get("done", False)) if isinstance(answer, dict) else None
        truncated = answer.get("truncated", False) if isinstance(answer, dict) else None
        if not isinstance(text, str) or not isinstance(terminated, bool) or not isinstance(truncated, bool):
            raise BridgeError(f"{self.url} answered outside the protocol: {answer!r:.300}")
        own = (observation_field, "reward", "done", "terminated", "truncated", "id", "env_idx")
        extra = {name: value for name, value in answer.items() if name not in own and value is not None}
        offered = _texts(extra.get("available_actions"))
        self._available = offered or _listed(text)
        if offered:  # ALFWorld's, which the agent must see
            text = f"{text}\nAvailable actions: {', '.join(offered)}"
        return ForeignTurn(text, reward_of(answer.get("reward")), terminated, truncated, extra)

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None and self.dialect is not None and DIALECTS[self.dialect].closes:
            with suppress(BridgeError):  # the server may be gone, and the session with it
                self._http.request("POST", "/close", {DIALECTS[self.dialect].id_field: session})

    def _known_dialect(self) -> ServerDialect:
        if self.dialect is None:
            parts = urlsplit(self.url)
            with JsonClient(f"{parts.scheme}://{parts.netloc}", self.timeout, self.max_answer_bytes) as server:
                try:
                    document = server.request("GET", "/openapi.json")
                except RefusedError:
                    document = None
            self.dialect = recognised(document, parts.path)
            if self.dialect is None:
                raise BridgeError(
                    f"{self.url} does not describe an environment of AgentGym; if it is one, add the dialect: "
                    f"agentgym:{self.url}#{'|'.join(DIALECTS)}"
                )
        return DIALECTS[self.dialect]


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _listed(text: str) -> list[str]:
    """Return the actions that an observation itself lists."""
    found = _LISTED.search(text)
    try:
        return _texts(json.loads(found[1])) if found else []
    except (ValueError, RecursionError):
        return []
