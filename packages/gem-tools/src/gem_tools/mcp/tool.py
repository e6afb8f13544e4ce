"""MCP servers as tools for agents: :class:`MCPTool`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, integer, real
from gem.errors import ArgumentTypeError, ToolError
from gem_tools.mcp.config import ServerConfig, read_config
from gem_tools.mcp.connection import RetryPolicy
from gem_tools.mcp.listing import Extras, OfferedTool, list_offers
from gem_tools.mcp.placeholders import has_values
from gem_tools.mcp.results import prompt_messages
from gem_tools.mcp.sampled_model import Completions, ModelBudget, check_model
from gem_tools.mcp.server_tool import MCPServerTool
from gem_tools.mcp.session_group import SessionGroup
from gem_tools.mcp.simulated_user import Answers, check_source
from gem_tools.mcp.tool_set import ToolSet
from gem_tools.mcp.users import ConnectionUser

if TYPE_CHECKING:
    from typing_extensions import Self

    from gem.core import Env
    from gem.tools.base import Tool

__all__ = ["MCPTool"]

Config = str | Path | Mapping[str, Any]


class MCPTool:
    """All tools of one or more MCP servers.

    An MCPTool represents a list of tools: ``ToolEnvWrapper(env, [MCPTool(config)])`` offers each of them to the agent
    under its own name, with the prefix ``SERVER_`` if there are several servers. A name that chat APIs do not
    allow is changed as little as necessary. Agents call them natively, or by text like any tool; the original's
    ``<tool_call><tool_name>NAME</tool_name><arguments>{JSON}</arguments></tool_call>`` is one of the forms.

    A server whose configuration has values of an episode, such as ``${episode.dir}``, is started anew for each episode
    on its first call, and ends with the episode. Use them for servers that keep files or a database: no other episode
    sees what one has written there. To list its tools, the server is started once with the values that the
    environment offers before its first reset, or with defaults.

    All environments of a process share one session with any other server, which is opened on first use, reopened
    after the server ended, and closed after its last user: an ``MCPTool`` uses it until it is iterated
    over, its tools until they are closed (or garbage). A forked process opens sessions of its own.

    Args:
        config: the servers; see :func:`gem_tools.mcp.config.read_config`.
        auth: a bearer token for servers with a URL; ``"${NAME}"`` reads it from the environment.
        headers: HTTP headers for the same servers.
        max_retries: the number of retries of an undelivered request. A delivered request is never sent twice.
        delay_between_retries: the pause between retries, in seconds.
        execution_timeout: the time limit of a call, in seconds.
        validate_on_init: list the tools of the servers immediately instead of on first use, unless one of them needs
            values of an episode.
        connect_timeout: the time limit for a server to become ready, in seconds.
        max_chars: the largest number of characters of a result's text; the middle of a longer text is cut out.
        shared: whether environments share a session. Turn it off for a server that keeps the state of an episode
            in its process: then every episode has its own session, and its own process of a local server.
            ``get_state`` never contains the state of a server.
        resources: whether to add the tools ``list_resources`` and ``read_resource`` for servers that have resources.
        prompts: whether to add the tools ``list_prompts`` and ``get_prompt`` for servers that have prompts.
        parallel: whether calls may run at the same time as others of one message. None: those of tools that the
            server marks as reading only, and of resources and prompts.
        user: answers the questions that servers ask their user (elicitation): a table, a function, a policy, or a value
            of the episode; see :data:`gem_tools.mcp.simulated_user.Answers`. Each environment then has sessions of its
            own, since a session does not say which call a question belongs to. None: servers hear that there is no
            user, and offer or refuse their tools accordingly.
        model: completes messages for servers that ask for it (sampling): a function, a policy, such as one with a model
            client, or a value of the episode; see :data:`gem_tools.mcp.sampled_model.Completions`. It has sessions of
            its own, as ``user``. None: servers hear that sampling is not supported.
        model_budget: what all servers together may spend in an episode; None for the defaults of ``ModelBudget``. A
            call may ask for ten completions.
        longest_execution: the time limit in seconds of a call that shows that it goes on: its server reports
            progress, carries it out as a task, or asks the user or the model. Each sign begins ``execution_timeout``
            anew. None: no more than ``execution_timeout`` altogether.

    Raises:
        ToolError: if the configuration is wrong.
        MCPServerError: if a server cannot be used.
    """

    def __init__(
        self,
        config: Config,
        auth: str | None = None,
        headers: Mapping[str, str] | None = None,
        max_retries: int = 3,
        delay_between_retries: float = 1.0,
        execution_timeout: float = 30.0,
        validate_on_init: bool = True,
        connect_timeout: float = 60.0,
        max_chars: int = 20_000,
        shared: bool = True,
        resources: bool = False,
        parallel: bool | None = None,
        prompts: bool = False,
        user: Answers | None = None,
        longest_execution: float | None = None,
        model: Completions | None = None,
        model_budget: ModelBudget | None = None,
    ) -> None:
        self._policy = RetryPolicy(
            call=real("execution_timeout", execution_timeout, minimum=0.001, maximum=86_400.0),
            connect=real("connect_timeout", connect_timeout, minimum=0.001, maximum=86_400.0),
            retries=integer("max_retries", max_retries, minimum=0, maximum=1000),
            delay=real("delay_between_retries", delay_between_retries, minimum=0.0, maximum=3600.0),
            longest_call=None
            if longest_execution is None
            else real("longest_execution", longest_execution, minimum=0.001, maximum=86_400.0),
        )
        self.max_chars = integer("max_chars", max_chars, minimum=1)
        if user is not None:
            check_source(user)
        if model is not None:
            check_model(model)
        if model_budget is not None and not isinstance(model_budget, ModelBudget):
            raise ArgumentTypeError(f"model_budget must be a ModelBudget or None, got {type(model_budget).__name__}")
        self.user = user
        self.model, self.model_budget = model, model_budget
        self.shared = boolean("shared", shared) and user is None and model is None
        self.extras = Extras(boolean("resources", resources), boolean("prompts", prompts))
        self.parallel = None if parallel is None else boolean("parallel", parallel)
        self._validate_on_init = boolean("validate_on_init", validate_on_init)
        self._lock = threading.Lock()
        self._user = ConnectionUser()
        self._group: SessionGroup | None = None
        self._configure(config, auth, headers)

    @classmethod
    def from_url(
        cls, url: str, auth: str | None = None, headers: Mapping[str, str] | None = None, **kwargs: Any
    ) -> Self:
        """Return the tools of the server at a URL."""
        return cls(url, auth, headers, **kwargs)

    @classmethod
    def from_config_file(cls, config_path: str | Path, **kwargs: Any) -> Self:
        """Return the tools of the servers that a JSON file names."""
        return cls(Path(config_path), **kwargs)

    @classmethod
    def from_local_command(cls, server_params: str | Mapping[str, Any], name: str = "default", **kwargs: Any) -> Self:
        """Return the tools of a local server, started by a command line, or by ``command``, ``args`` and ``env``."""
        return cls({"mcpServers": {name: server_params}}, **kwargs)

    @classmethod
    def from_multi_server(cls, servers: Mapping[str, str | Mapping[str, Any]], **kwargs: Any) -> Self:
        """Return the tools of several servers, each a URL, a command line or a dict."""
        return cls({"mcpServers": dict(servers)}, **kwargs)

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over new tool objects, which use the servers from then on.

        Raises:
            MCPServerError: if a server cannot be used. The next iteration tries again.
        """
        return self._tools({})

    def tools_for(self, env: Env[Any, Any]) -> Iterator[Tool]:
        """Iterate over new tool objects for an environment, whose values serve to list the tools.

        Raises:
            MCPServerError: if a server cannot be used.
            ToolError: if the environment does not offer a value that a server needs.
        """
        return self._tools(getattr(env, "episode_values", {}))

    def _tools(self, values: Mapping[str, Any]) -> Iterator[Tool]:
        offers = self._discovered(values)
        with self._lock:
            group, self._group = self._group, None
        group = group or self._new_group()
        tool_set = ToolSet(self, dict(self._revisions))
        tools = [self.tool_of(offer, tool_set, group) for offer in offers]
        self._user.release(wait=False)
        return iter(tools)

    def tool_of(self, offer: OfferedTool, tool_set: ToolSet, group: SessionGroup | None = None) -> MCPServerTool:
        """Return a new tool object.

        Args:
            offer: one of the tools that the servers offer.
            tool_set: the tools of its environment.
            group: the tools that share sessions of their own, where the tool is one of these.
        """
        own = not self.shared or has_values(offer.server)
        return MCPServerTool(offer, self._policy, self.max_chars, group if own else None, self.parallel, tool_set)

    def offered(self) -> tuple[list[OfferedTool], dict[ServerConfig, int]]:
        """Return what the servers offer now, and the revision of each server's list.

        Raises:
            MCPServerError: if a server cannot be used.
        """
        try:
            return self._discovered({}), dict(self._revisions)
        finally:
            self._user.release(wait=False)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, server: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the messages of a prompt that a server offers, as chat APIs take them.

        Args:
            name: the name of the prompt.
            arguments: its arguments.
            server: the name of the server; None if there is one only.

        Raises:
            ToolError: if the server is not named, or not one of these, or has values of an episode.
            MCPServerError: if the server refuses.
        """
        found = [known for known in self._servers if server in (None, known.name)]
        if len(found) != 1 or has_values(found[0]):
            names = ", ".join(known.name for known in self._servers if not has_values(known)) or "none"
            raise ToolError(f"the server of a prompt must be one of these: {names}; got {server!r:.80}")
        given = {} if arguments is None else arguments
        group = None if self.shared else self._new_group()
        user = ConnectionUser()
        try:
            answer = user.run(
                found[0], group, lambda there: there.get_prompt(name, given, self._policy), self._policy.longest
            )
        finally:
            user.forget()
        return prompt_messages(answer, self.max_chars)

    def get_available_tools(self) -> list[dict[str, Any]]:
        """Return the name, description and parameters of every tool as dicts."""
        return [
            {"name": offer.name, "description": offer.description, "parameters": dict(offer.parameters)}
            for offer in self._discovered({})
        ]

    def reconfigure(
        self, new_config: Config, auth: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Use other servers from now on. Existing tools keep theirs."""
        self.close()
        self._configure(new_config, auth, headers)

    def close(self) -> None:
        """Stop using the servers. A second call does nothing; an iteration opens them again."""
        self._user.release()

    def __enter__(self) -> Self:
        """Use the servers until the end of the block, even without other users."""
        self._discovered({})
        self._user.keep = True
        return self

    def __exit__(self, *_: object) -> None:
        self._user.keep = False
        self.close()

    def __repr__(self) -> str:
        return f"MCPTool({', '.join(server.name for server in self._servers)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        again: Self = _tool_again(*self.__reduce__()[1])  # type: ignore[assignment]
        return again

    def __reduce__(self) -> tuple[Any, ...]:
        return _tool_again, (type(self), self._arguments, self._settings())

    def _configure(self, config: Config, auth: str | None, headers: Mapping[str, str] | None) -> None:
        self._arguments = (config, auth, headers)
        self._servers = read_config(config, auth, headers)
        self._offers: list[OfferedTool] | None = None
        self._revisions: dict[ServerConfig, int] = {}
        if self._validate_on_init and not any(map(has_values, self._servers)):
            self._discovered({})

    def _settings(self) -> dict[str, Any]:
        return {
            "max_retries": self._policy.retries,
            "delay_between_retries": self._policy.delay,
            "execution_timeout": self._policy.call,
            "connect_timeout": self._policy.connect,
            "max_chars": self.max_chars,
            "shared": self.shared,
            "resources": self.extras.resources,
            "parallel": self.parallel,
            "prompts": self.extras.prompts,
            "user": self.user,
            "longest_execution": self._policy.longest_call,
            "model": self.model,
            "model_budget": self.model_budget,
        }

    def _new_group(self) -> SessionGroup:
        return SessionGroup(self.user, self.model, self.model_budget)

    def _discovered(self, values: Mapping[str, Any]) -> list[OfferedTool]:
        with self._lock:
            if self._offers is None or self._is_old():
                if not self.shared and self._group is None:
                    self._group = self._new_group()
                group = None if self.shared else self._group
                self._offers, revisions = list_offers(
                    self._servers, self._policy, self._user, group, values, self.extras
                )
                self._revisions = dict(zip(self._servers, revisions, strict=True))
            return self._offers

    def _is_old(self) -> bool:
        """Whether a shared server has another list of tools now, as far as it has said so."""
        if not self.shared:
            return False
        now = {server: self._user.revision(server) for server in self._servers if not has_values(server)}
        return any(revision not in (None, self._revisions[server]) for server, revision in now.items())


def _tool_again(kind: type[MCPTool], arguments: tuple[Any, ...], settings: dict[str, Any]) -> MCPTool:
    settings = {**settings, "validate_on_init": False}
    return kind(*arguments, **settings)
