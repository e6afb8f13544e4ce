"""The policy that plays with a model: :class:`ModelPolicy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from zlib import crc32

from gem.arguments import boolean, choice
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Act, Policy
from gem_eval.clients.base import Completion, Message, ModelClient, Sampling
from gem_eval.clients.exact_completion import complete_exactly, token_source
from gem_eval.clients.session import episode_session
from gem_rollout.chat_templates.rendered_text import refuse_pictures
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt

__all__ = ["ModelPolicy", "messages_of", "tool_schemas"]

ToolMode = Literal["native", "text"]


class ModelPolicy(Policy[Any, Any]):
    """Asks a model for each action. One object plays one episode at a time; thousands may share a client.

    An observation is a text, a list of content parts (pictures among them), or a list of chat messages. Each one is the
    whole prompt: earlier turns are in it if a wrapper such as ``messages`` puts them there.

    The action is the model's text, or its message where it calls tools natively.

    Args:
        client: not closed by the policy.
        sampling: None for the server's defaults. Each episode derives its seed of sampling from ``sampling.seed``, so
            that the episodes of a group differ, and its session from ``sampling.session``.
        system: the system prompt; it stands before the one of the environment, if there is one.
        tools: ``"native"`` offers the tools of ``env`` through the chat API; ``"text"`` and None leave it to the
            observation, in which the tool wrapper explains them; or a list of schemas, offered natively.
        env: the environment that is played, for its tools and the name of the session.
        protocol: ``"chat"``, or ``"completions"`` for prompts without a chat template; None takes the client's.
        exact_tokens: play with token ids, so that each prompt holds exactly what was sampled before; see
            :mod:`gem_rollout.chat_templates.sampled_prompt`. The client's server must take and give ids. Tool calls are
            read from the text, in the form ``<tool_call>{…}</tool_call>``.
        tokenizer: with ``exact_tokens``, a tokenizer of the same model with a chat template; None asks the client.
        keep_reasoning: when the model's reasoning is in the message that a history wrapper shows again: with native
            ``"tools"`` calls, as servers expect it, ``"always"`` or ``"never"``.
    """

    def __init__(
        self,
        client: ModelClient,
        sampling: Sampling | None = None,
        *,
        system: str | None = None,
        tools: ToolMode | Sequence[Mapping[str, Any]] | None = None,
        env: Env[Any, Any] | None = None,
        protocol: str | None = None,
        exact_tokens: bool = False,
        tokenizer: Any = None,
        keep_reasoning: Literal["tools", "always", "never"] = "tools",
    ) -> None:
        self.client = client
        self.sampling = self._base_sampling = sampling
        self._env = env
        self._system: list[Message] = [{"role": "system", "content": system}] if system else []
        self._tools: list[dict[str, Any]] | None = None
        if tools is not None and not isinstance(tools, str):
            self._tools = [dict(schema) for schema in tools] or None
        elif choice("tools", tools, ("native", "text", None)) == "native" and env is not None:
            self._tools = tool_schemas(env) or None
        protocol = getattr(client, "protocol", "chat") if protocol is None else protocol
        choice("protocol", protocol, ("auto", "chat", "completions", "generate", "messages", "responses"))
        self._plain = protocol in ("completions", "generate")
        self._exact_prompt: SampledPrompt | None = None
        carriers = (
            "exact tokens" if boolean("exact_tokens", exact_tokens)
            else "prompts without a chat template" if self._plain
            else "models in this process" if getattr(client, "text_alone", False)
            else None
        )  # fmt: skip
        if env is not None and carriers is not None:
            refuse_pictures(env.spec, carriers)
        source = token_source(client, tokenizer, exact_tokens)
        if source is not None:
            self._exact_prompt = SampledPrompt(source, "appended", {"tools": self._tools} if self._tools else {})
        self._keep_reasoning = choice("keep_reasoning", keep_reasoning, ("tools", "always", "never"))

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Give the coming episode a session of its own, and a seed of sampling, where sampling is seeded at all."""
        base = self._base_sampling or Sampling()
        changes: dict[str, Any] = {"session": episode_session(base.session, self._env, seed, repetition)}
        if base.seed is not None:
            # crc32 is the same in every process, as hash is not.
            changes["seed"] = crc32(f"{base.seed} {seed} {repetition}".encode()) & 0x7FFFFFFF
        self.sampling = replace(base, **changes)

    async def reset(self, observation: Any, info: Info) -> None:
        """Begin a new episode; async, so that the engine needs no thread for it."""
        if self._exact_prompt is not None:
            self._exact_prompt.restart()

    async def act(self, observation: Any, info: Info) -> Act:
        """Return the model's action and everything that its server says about it.

        Raises:
            ModelError: if the model gives no answer.
            ContextOverflow: if the prompt has become too long.
            ArgumentTypeError: if the observation is none that a model can be shown.
        """
        if self._exact_prompt is not None:
            completion = await self._exact(self._exact_prompt, messages_of(observation, self._system))
        elif self._plain:
            completion = await self.client.complete(self._prompt(observation), sampling=self.sampling)
        else:
            completion = await self.client.chat(
                messages_of(observation, self._system), tools=self._tools, sampling=self.sampling
            )
        return self._act(completion)

    def recall(self, observation: Any, info: Info, act: Act) -> None:
        """Go on after a turn of an interrupted episode, whose prompt was the observation and whose answer ``act``."""
        if self._exact_prompt is not None:
            messages = messages_of(observation, self._system)
            self._exact_prompt.resume(messages, act.prompt_token_ids or [], act.token_ids or [])

    async def _exact(self, exact_prompt: SampledPrompt, messages: list[Message]) -> Completion:
        prompt = await exact_prompt.extend_async(messages)
        completion = await complete_exactly(
            self.client, prompt, messages, has_tools=bool(self._tools), sampling=self.sampling
        )
        completion.prompt_token_ids = prompt
        exact_prompt.note(completion.token_ids or [])
        return completion

    def _prompt(self, observation: Any) -> str:
        if not isinstance(observation, str):
            raise ArgumentTypeError(
                "without a chat template, an observation must be text, "
                f"got {type(observation).__name__}; use the wrapper concat_chat, or the protocol 'chat'"
            )
        return "".join(f"{message['content']}\n\n" for message in self._system) + observation

    def _act(self, completion: Completion) -> Act:
        message = completion.message
        keeps = bool(completion.tool_calls)
        if self._keep_reasoning != "tools" and completion.reasoning is not None:
            names = [name for name in ("reasoning", "reasoning_content") if name in message]
            if self._keep_reasoning == "never":
                message = {name: value for name, value in message.items() if name not in names}
            keeps = keeps or (self._keep_reasoning == "always" and bool(names))
        return Act(
            message if keeps else completion.text,
            prompt_token_ids=completion.prompt_token_ids,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            tokens=completion.tokens,
            top_logprobs=completion.top_logprobs,
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            reasoning=completion.reasoning,
            model=completion.model,
            version=completion.version,
            version_spans=completion.version_spans,
            metadata=completion.call_metadata(),
        )


def messages_of(observation: Any, system: Sequence[Message] = ()) -> list[Message]:
    """Return an observation as chat messages, after those of the system.

    Raises:
        ArgumentTypeError: if it is neither a text, nor a list of content parts or messages.
        ArgumentError: if it is an empty list.
    """
    if isinstance(observation, str):
        return [*system, {"role": "user", "content": observation}]
    if not isinstance(observation, (list, tuple)) or not all(map(_is_mapping, observation)):
        raise ArgumentTypeError(
            "a model takes observations that are text, lists of content parts or lists of messages, "
            f"got an object of type {type(observation).__name__}"
        )
    if not observation:
        raise ArgumentError("the observation is an empty list; a model needs a prompt")
    if "role" not in observation[0]:
        return [*system, {"role": "user", "content": list(observation)}]
    if system and observation[0]["role"] == "system" and isinstance(observation[0].get("content"), str):
        # Many templates accept one system message, at the beginning.
        joined = "\n\n".join(message["content"] for message in (*system, observation[0]))
        return [{**observation[0], "content": joined}, *observation[1:]]
    return [*system, *observation]


def _is_mapping(item: Any) -> bool:
    return type(item) is dict or isinstance(item, Mapping)  # the check by an abstract class is slow


def tool_schemas(env: Env[Any, Any]) -> list[dict[str, Any]]:
    """Return the schemas of all tools of an environment and its wrappers, the outermost first, each name once."""
    schemas: dict[str, dict[str, Any]] = {}
    layer: Any = env
    while layer is not None:
        if hasattr(type(layer), "tool_schemas"):
            for schema in layer.tool_schemas:
                schemas.setdefault(schema["function"]["name"], schema)
        layer = vars(layer).get("env") if hasattr(layer, "__dict__") else None
    return list(schemas.values())
