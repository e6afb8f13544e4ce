"""Classes, arguments and members of the original GEM that have other names here.

Only :mod:`gem.migration` and :func:`gem.make` lead here, for code that was written for the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pprint import pprint
from typing import TYPE_CHECKING, Any

from gem.arguments import check_names, keyword_names
from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, GemError, MissingPluginError
from gem.migration import OLD_ARGUMENTS, without_old_argument
from gem.text_env import MALFORMED_REWARD
from gem.tools.base import Tool, ToolResult, failure

if TYPE_CHECKING:
    from gem.vector import VectorEnv

__all__ = [
    "ENV_REGISTRY",
    "WRAPPER_FACTORY",
    "AsyncVectorEnv",
    "BaseTool",
    "LanguageGameReward",
    "ObservationWrapper",
    "SyncVectorEnv",
    "TakesOldArguments",
    "get_wrapper_fns",
    "member",
    "ppprint",
    "run_and_print_episode",
    "run_and_print_episode_async",
]

_WrapperFunction = Callable[..., Env[Any, Any]]


def ObservationWrapper(  # noqa: N802  # the name of a class of the original
    env: Env[Any, Any],
    include_action: bool = True,
    include_chat_template: bool = True,
    apply_chat_template_on_reset: bool = False,
    max_history_length: int | None = None,
    tokenizer: Any = None,
) -> Env[Any, Any]:
    """Return the observation wrapper for these arguments of the original's one class.

    Raises:
        ArgumentError: for combinations that the original refuses as well.
        ArgumentTypeError: if a chat template is asked for without a tokenizer.
    """
    from gem.wrappers import wrapper
    from gem.wrappers.text_history import Concat, ConcatWithAction

    if include_chat_template and apply_chat_template_on_reset:
        raise ArgumentError("include_chat_template and apply_chat_template_on_reset exclude each other")
    if include_chat_template:
        if not include_action:
            raise ArgumentError("include_chat_template needs include_action=True")
        return wrapper("concat_chat", tokenizer=tokenizer, max_history_length=max_history_length)(env)
    if apply_chat_template_on_reset:
        return wrapper(
            "concat_chat_on_reset",
            tokenizer=tokenizer,
            include_action=include_action,
            max_history_length=max_history_length,
        )(env)
    concat = ConcatWithAction if include_action else Concat
    return concat(env, max_history_length=max_history_length)


class _MissingWrapperError(MissingPluginError, KeyError):
    """Also a KeyError, as a mapping's users expect."""

    __str__ = Exception.__str__  # that of KeyError shows the repr of the message


class _WrapperFactory(Mapping[str, _WrapperFunction]):
    """Every wrapper by name, those of plugins included; each is loaded on use.

    The values take an environment and keyword arguments. All of them take ``tokenizer``, as in the original's
    loops over names, and those that need none ignore it.
    """

    def __getitem__(self, name: str) -> _WrapperFunction:
        from gem.wrappers import wrapper

        try:
            found = wrapper(name)
        except MissingPluginError as error:
            raise _MissingWrapperError(str(error)) from None
        return found if _takes_tokenizer(found) else partial(_without_tokenizer, found)

    def __iter__(self) -> Iterator[str]:
        from gem.plugins import names

        return iter(names("gem_wrappers"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"WRAPPER_FACTORY({', '.join(self)})"


WRAPPER_FACTORY: Mapping[str, _WrapperFunction] = _WrapperFactory()


def get_wrapper_fns(wrappers: str | None, tokenizer: Any = None) -> list[_WrapperFunction]:
    """Return the wrappers of a list of names joined by commas, ready to be applied from the inside out.

    Args:
        wrappers: names; None or an empty string stands for none.
        tokenizer: passed to those that accept one.

    Raises:
        MissingPluginError: if no installed package has the name; the message has the install line.
    """
    names = [name.strip() for name in (wrappers or "").split(",")]
    return [partial(WRAPPER_FACTORY[name], tokenizer=tokenizer) for name in names if name]


def _takes_tokenizer(function: _WrapperFunction) -> bool:
    from inspect import signature

    return "tokenizer" in signature(function).parameters


def _without_tokenizer(
    function: _WrapperFunction, env: Env[Any, Any], *args: Any, tokenizer: Any = None, **kwargs: Any
) -> Env[Any, Any]:
    return function(env, *args, **kwargs)


class TakesOldArguments:
    """The first base of a class behind one of the original's paths: ignores, with a warning, what that one took."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        old = _old_names(cls, kwargs)
        return super().__new__(cls, *args, **{name: value for name, value in kwargs.items() if name not in old})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = type(self)
        known: dict[str, Any] = kwargs
        for name in _old_names(cls, kwargs):
            known = without_old_argument(cls.__name__, known, name)
        names = keyword_names(_adapted(cls).__init__)
        if names is not None:
            check_names(cls.__name__, known, names)
        super().__init__(*args, **known)


def member(env: Env[Any, Any], name: str) -> Any:
    """Return what the original's environments had under one of :data:`gem.migration.MEMBERS`.

    Raises:
        AttributeError: if this environment has no counterpart.
    """
    inner = env.unwrapped
    attribute = {"dataset": "rows", "idx": "index", "turn_count": "_turn"}.get(name)
    if attribute is not None and hasattr(inner, attribute):
        return getattr(inner, attribute)
    spec = inner.spec
    if spec is not None and name == "env_id":
        return spec.id
    if spec is not None and name == "entry_point":
        return spec.entry_point
    if spec is not None and name == "seed" and "seed" in spec.kwargs:
        return spec.kwargs["seed"]
    raise AttributeError(f"{type(env).__name__!r} object has no attribute {name!r}")


class _EnvRegistry(Mapping[str, EnvSpec]):
    """Every environment by id: those registered in this process, and those of installed packages."""

    def __getitem__(self, env_id: str) -> EnvSpec:
        from gem.registry import spec

        try:
            return spec(env_id)
        except GemError as error:
            raise KeyError(env_id) from error

    def __iter__(self) -> Iterator[str]:
        from gem.registry import all_specs

        return iter(dict.fromkeys(spec.id for spec in all_specs()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


ENV_REGISTRY: Mapping[str, EnvSpec] = _EnvRegistry()


class LanguageGameReward:
    """The rewards of the original's games, which games here pay as well."""

    success_reward: float = 1.0
    internal_step_reward: float = 0.0
    fail_reward: float = 0.0
    invalid_action_reward: float = 0.0
    format_error_reward: float = MALFORMED_REWARD


def SyncVectorEnv(  # noqa: N802  # the name of a class of the original
    env_ids: Sequence[str], env_fns: Sequence[Callable[[], Env[Any, Any]]], autoreset_mode: Any = "same_step"
) -> VectorEnv:
    """Return a vector environment in sync mode for the original's arguments; ``env_ids`` is not needed."""
    from gem.vector.sync import SyncVectorEnv as Sync

    return Sync(env_fns, autoreset=_autoreset(autoreset_mode))


def AsyncVectorEnv(  # noqa: N802  # the name of a class of the original
    env_ids: Sequence[str], env_fns: Sequence[Callable[[], Env[Any, Any]]], autoreset_mode: Any = "same_step"
) -> VectorEnv:
    """Return a vector environment in thread mode, as that of the original was."""
    from gem.vector.thread import ThreadVectorEnv

    return ThreadVectorEnv(env_fns, autoreset=_autoreset(autoreset_mode))


def ppprint(value: Any) -> None:
    """Print a value, the items of a list one after the other."""
    for item in value if isinstance(value, (list, tuple)) else [value]:
        pprint(item)  # noqa: T203  # the purpose of the function


def run_and_print_episode(
    env: Any, policy: Callable[[Any], Any], ignore_done: bool = False, max_steps: float = 1e9
) -> None:
    """Play an environment or a vector environment, and print what happens.

    Args:
        env: left open.
        policy: returns the action, or the actions, for what ``reset`` or ``step`` returned.
        ignore_done: go on after the end, as a vector environment with autoreset can.
        max_steps: stop after this number of steps.
    """
    observation, _ = env.reset()
    step, done = 0, False
    while step < max_steps and (ignore_done or not done):
        action = policy(observation)
        after, reward, terminated, truncated, _ = env.step(action)
        done = _print_step(step, observation, action, reward, terminated, truncated)
        observation, step = after, step + 1


async def run_and_print_episode_async(
    env: Any, policy: Callable[[Any], Any], ignore_done: bool = False, max_steps: float = 1e9
) -> None:
    """Do the same for an environment whose ``reset`` and ``step`` are coroutines."""
    observation, _ = await env.reset()
    step, done = 0, False
    while step < max_steps and (ignore_done or not done):
        action = policy(observation)
        after, reward, terminated, truncated, _ = await env.step(action)
        done = _print_step(step, observation, action, reward, terminated, truncated)
        observation, step = after, step + 1


class BaseTool(Tool):
    """A tool written for the original: it gives ``instruction_string`` and ``execute_action``.

    It can be called by text only. ``tool_type`` is its name.
    """

    tool_type: str = "base"

    def __init__(self, num_workers: int = 1) -> None:
        self.num_workers = num_workers

    @cached_property
    def name(self) -> str:  # type: ignore[override]  # subclasses set tool_type, and are free to set this as well
        return self.tool_type

    def instruction_string(self) -> str:
        """Return the instructions for calling the tool."""
        raise NotImplementedError(f"{type(self).__name__} does not implement instruction_string")

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """Carry out the call in a text.

        Returns:
            Whether there was a call, whether it failed, the text for the agent, and the part of the text that
            was acted on.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement execute_action")

    def respond(self, text: str) -> tuple[str, ToolResult] | None:
        try:
            is_call, has_error, observation, parsed_action = self.execute_action(text)
            if not is_call:
                return None
            result = ToolResult(observation, ok=not has_error)
        except (Exception, SystemExit) as error:
            return text, failure(self.name, error)
        return parsed_action if isinstance(parsed_action, str) else text, result


def _adapted(cls: type) -> Any:
    """Return the class that an adapter adapts: the first base that is no adapter itself."""
    return next(base for base in cls.__mro__ if not issubclass(base, TakesOldArguments))


def _old_names(cls: type, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the original's arguments that the adapted class does not have."""
    names = keyword_names(_adapted(cls).__init__) or ()
    return {name: value for name, value in kwargs.items() if name in OLD_ARGUMENTS and name not in names}


def _autoreset(mode: Any) -> str:
    """Return the mode for the original's enumeration, whose values are ``"NextStep"`` and ``"SameStep"``."""
    value = str(getattr(mode, "value", mode))
    return {"NextStep": "next_step", "SameStep": "same_step"}.get(value, value)


def _print_step(step: int, observation: Any, action: Any, reward: Any, terminated: Any, truncated: Any) -> bool:
    for name, value in (("observation", observation), ("action", action), ("reward", reward)):
        print(f"{name} of step {step + 1}:")  # noqa: T201  # the purpose of the function
        ppprint(value)
    print(f"terminated: {terminated}, truncated: {truncated}")  # noqa: T201
    done = terminated | truncated
    return bool(done.all() if hasattr(done, "all") else done)
