"""The environment contract: :class:`Env`, :class:`Wrapper`, and the keys of ``info``.

The shape of an episode::

    observation, info = env.reset(seed=7)
    while True:
        action = policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break

**Observation**: a str, or a list of OpenAI-style content parts (``{"type": "text", "text": …}``,
``{"type": "image_url", "image_url": {"url": …}}``) where pictures matter. It carries everything that the
agent must see; a loop that ignores ``info`` can win.

**Action**: a str, or an assistant message (a dict with ``content`` and ``tool_calls``) where a model calls
tools natively.

**terminated** means that the task is decided, and a learner must not bootstrap. Running out of the turns
that the instructions announced decides the task too; ``truncated`` is then true as well. A limit
unknown to the agent (a wrapper's budget, a time limit, a fault) is ``truncated`` alone.

**info** is JSON-serialisable and belongs to the caller: the environment never changes it later. Every
key is optional. These have a fixed meaning:

==========================  ==========================================================================
``turn``                    int, turns taken in this episode (0 after ``reset``)
``action_status``           ``"legal"``, ``"illegal"`` (understood, against the rules) or ``"malformed"``
``success``                 bool, on the last step of an episode: whether the task was achieved
``correct``                 bool, on the last step of a question: whether the answer was right
``index``                   int, the row of this question in its set (:class:`gem_questions.QuestionEnv`)
``epoch``                   int, on ``reset``: number of times that the order had covered the whole set
``parsed_action``           str, the part of the action that was acted on; history shows it instead
``prefix``, ``suffix``      str, put before and after the joined observations by observation wrappers
``error``                   str, the environment failed; the episode is truncated and counts for nothing
``user_fault``              str, the simulated user has spoiled the episode, which says nothing about the agent
``env_reward``              float, the environment's own reward (the wrapper ``transform_reward``)
``scores``                  dict, label of a reward → its score of the episode (same)
``grade``                   ``"same"``, ``"different"`` or ``"unreadable"``, on the last step of a question: the
                            grader's verdict; ``"unreadable"`` also where a reward could not tell (same as ``scores``)
``attempt``                 int, attempts at this task so far (:class:`gem.wrappers.attempts.Attempts`)
``use_tool``                bool, this step was answered by a tool (:class:`gem.tools.ToolEnvWrapper`)
``tool_name``               str, which tool answered
``tool_type``               str, the same
``tool_error``              bool, the tool call failed
``tool_results``            list, the result of each call; see :class:`gem.tools.ToolEnvWrapper`
``tool_use_counter``        int, tool calls in this episode
``tool_success_counter``    int, tool calls in this episode that succeeded
``step_counter``            int, steps of this episode (:class:`gem.wrappers.tracking.EpisodeTracking`)
``cumulative_rewards``      float, rewards of this episode so far (same)
``prev_ep_…``               on ``reset``: the counters of the episode before
``seed``                    int, with autoreset, on the first and the last step of an episode: the seed with which
                            ``reset`` plays it again; for a question also its ``index``, as a reset option
``final_observation``       with same-step autoreset: the finished episode's last observation
``final_info``              with same-step autoreset: the finished episode's last info
==========================  ==========================================================================
"""

from __future__ import annotations

import random
import sys
from abc import ABC
from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gem.arguments import check_names, keyword_names, real, seed_value
from gem.errors import ArgumentTypeError, IncompleteEnvError, NotSupportedError, StateError

if TYPE_CHECKING:
    from typing_extensions import Self

    from gem.env_spec import EnvSpec

__all__ = ["ActT", "Action", "Env", "Info", "ObsT", "Observation", "Wrapper"]

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")

Info = dict[str, Any]
Observation = str | list[dict[str, Any]]
Action = str | dict[str, Any]

_VARIADIC_POSITIONAL = 0x04  # a code flag, documented in the inspect module


class Env(Generic[ObsT, ActT]):
    """One task, or an endless supply of tasks, that an agent acts in turn by turn.

    A subclass defines ``reset`` and ``step``; a good one also ``sample_random_action``, ``get_state`` and
    ``set_state``. A base class that leaves one of the two to its own subclasses declares this with ``abc.ABC`` among
    its bases. Instances are not thread-safe, but share nothing: any number may run side by side.

    Raises:
        IncompleteEnvError: when a class is defined without ``reset`` or ``step``, and when an abstract class is called.
    """

    spec: EnvSpec | None = None
    """The spec from which this environment was made; None if it was constructed by hand."""

    follows_order: bool = False
    """Whether resets without a seed go through an order that the last seed began, as a question set does.

    Autoreset brings such an environment no seeds, so that the order is kept.
    """

    _rng: random.Random | None = None
    _action_rng: random.Random | None = None
    _action_seed: int | None = None
    _arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
    _missing: tuple[str, ...] = ("reset", "step")
    """The methods that this class leaves to its subclasses."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._missing = tuple(name for name in Env._missing if getattr(cls, name) is getattr(Env, name))
        cls._refuse_incomplete()

    @classmethod
    def _refuse_incomplete(cls) -> None:
        """Raise IncompleteEnvError if this class lacks a method and is not declared abstract."""
        if cls._missing and ABC not in cls.__bases__ and not _is_being_restored():
            raise IncompleteEnvError(
                f"{cls.__name__} does not define {' or '.join(cls._missing)}; define it, or add abc.ABC to the "
                "bases of a class that leaves it to its subclasses"
            )

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse unknown arguments with the nearest name, and remember the known ones for ``spawn``."""
        if cls._missing:
            raise IncompleteEnvError(f"{cls.__name__} is abstract: it does not define {' or '.join(cls._missing)}")
        _check_signature(cls, args, kwargs)
        self = super().__new__(cls)
        self._arguments = (args, kwargs)
        return self

    if not TYPE_CHECKING:  # a type checker must still find misspelt attributes

        def __getattr__(self, name: str) -> Any:
            # Python calls this only for attributes that are missing; the original's environments had a few more.
            from gem.migration import moved_member

            return moved_member(self, name)

    @property
    def rng(self) -> random.Random:
        """This environment's own generator, the only source of randomness in its episodes.

        ``reset(seed=…)`` seeds it; before any seed is given, it uses the operating system's entropy.
        """
        if self._rng is None:
            self._rng = random.Random()
        return self._rng

    @property
    def action_rng(self) -> random.Random:
        """The generator of ``sample_random_action``.

        Separate from ``rng``, so that recorded actions replay to the same episodes whether they were
        sampled from the environment or not.
        """
        if self._action_rng is None:
            seed = self._action_seed
            # A str seeds differently from any int, so this stream never coincides with that of ``rng``.
            self._action_rng = random.Random() if seed is None else random.Random(f"actions of {seed}")
        return self._action_rng

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsT, Info]:
        """Begin a new episode and return its first observation and info.

        Calling it in mid-episode abandons that episode. A subclass calls ``super().reset(seed=seed)``
        first, which seeds ``self.rng`` and nothing else in the process, and ignores the return value.

        Args:
            seed: any non-negative int. The same seed and the same actions give the same episode, in any
                thread or process. Without a seed the generator continues from its state, so that a whole
                run is a function of its first seed.
            options: the caller's choices for one episode, as this environment documents them.

        Raises:
            ArgumentTypeError, ArgumentError: for any other seed.
        """
        if seed is not None:
            seed_value(seed)
            if self._rng is None:
                self._rng = random.Random(seed)
            else:
                self._rng.seed(seed)
            self._action_rng, self._action_seed = None, seed
        return None  # type: ignore[return-value]  # only subclasses have an observation to return

    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, Info]:
        """Play one turn; return observation, reward, terminated, truncated and info.

        No action raises: any output of a model is at worst a malformed action with its documented
        reward.

        Raises:
            ResetNeededError: before the first ``reset``.
            EpisodeFinishedError: after ``terminated`` or ``truncated`` was returned.
        """
        raise NotImplementedError

    def sample_random_action(self) -> ActT:
        """Return a random well-formed action, drawn from ``self.action_rng``."""
        raise NotSupportedError(f"{type(self).__name__} does not implement sample_random_action")

    def get_state(self) -> dict[str, Any]:
        """Return everything that the rest of the run depends on, as a JSON-serialisable dict.

        Another instance made with the same arguments and set to this state (also after a round trip through JSON)
        continues identically, in this episode and all that follow.
        """
        raise NotSupportedError(f"{type(self).__name__} does not implement get_state")

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that ``get_state`` returned.

        Raises:
            StateError: if it is not such a state; this environment is then unchanged.
        """
        raise NotSupportedError(f"{type(self).__name__} does not implement set_state")

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new environment made with the same arguments.

        Args:
            same_state: also copy the state. Otherwise the new one is as fresh as a constructed one, with
                a generator of its own.
            **kwargs: constructor arguments that override the old ones.
        """
        args, own_kwargs = self._arguments
        # By name, so that the caller can also override a positional argument.
        names = _positional_names(type(self))[: len(args)]
        by_name = dict(zip(names, args, strict=False))
        twin = type(self)(*args[len(names) :], **{**by_name, **own_kwargs, **kwargs})
        if self.spec is not None:
            twin.spec = self.spec.with_kwargs(kwargs)
        if same_state:
            twin.set_state(self.get_state())
        return twin

    def close(self) -> None:
        """Release the resources of the environment. Calling it again does nothing."""

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        made_as = f"<{self.spec.id}>" if self.spec is not None else "()"
        return f"{type(self).__name__}{made_as}"

    def generator_state(self) -> Info:
        """Return both generators' states as JSON values: the common part of every ``get_state``."""
        return {"rng": _pack(self.rng), "action_rng": _pack(self.action_rng)}

    def set_generator_state(self, state: Mapping[str, Any]) -> None:
        """Restore the generators from a state that contains the values of :meth:`generator_state`.

        Raises:
            StateError: if they are missing; both generators are then unchanged.
        """
        rng, action_rng = _unpack(state.get("rng")), _unpack(state.get("action_rng"))
        self._rng, self._action_rng = rng, action_rng


class Wrapper(Env[ObsT, ActT]):
    """An environment around an environment; by itself it changes nothing.

    Attributes are forwarded live: reading ``wrapper.name`` reads ``wrapper.env.name`` at that moment.
    A wrapper with a state of its own overrides ``_own_state`` and ``_set_own_state``.
    """

    env: Env[Any, Any]

    def __init__(self, env: Env[Any, Any]) -> None:
        if not isinstance(env, Env):
            raise ArgumentTypeError(f"a wrapper needs a gem.Env, got an object of type {type(env).__name__}")
        self.env = env

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for attributes that neither the wrapper nor Env has. Without the guard, unpickling
        # would recurse endlessly in search of ``env``.
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # live, with this wrapper added
        if self.env.spec is None:
            return None
        return self.env.spec.with_wrapper(type(self), *self._own_arguments())

    @property
    def rng(self) -> random.Random:
        return self.env.rng

    @property
    def action_rng(self) -> random.Random:
        return self.env.action_rng

    @property
    def unwrapped(self) -> Env[Any, Any]:
        return self.env.unwrapped

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsT, Info]:
        # ``options`` is passed on only when given: published environments have reset(self, seed=None).
        if options is None:
            return self.env.reset(seed=seed)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, Info]:
        return self.env.step(action)

    def sample_random_action(self) -> ActT:
        action: ActT = self.env.sample_random_action()
        return action

    def get_state(self) -> dict[str, Any]:
        return {"env": self.env.get_state(), "wrapper": self._own_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        if not isinstance(state, Mapping) or state.keys() != {"env", "wrapper"}:
            raise StateError(f"{type(self).__name__}: not a state of a wrapped environment")
        before = self.env.get_state()
        self.env.set_state(state["env"])
        try:
            self._set_own_state(state["wrapper"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            self.env.set_state(before)
            raise StateError(f"{type(self).__name__}: not a state of this wrapper: {error!r}") from error

    def _own_state(self) -> Info:
        return {}

    def _set_own_state(self, state: Info) -> None:
        """Take over ``state``, assigning only once all of it has been read."""

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        args, own_kwargs = self._own_arguments()
        twin = type(self)(self.env.spawn(**kwargs), *args, **own_kwargs)
        if same_state:
            twin.set_state(self.get_state())
        return twin

    def generator_state(self) -> Info:
        return self.env.generator_state()

    def set_generator_state(self, state: Mapping[str, Any]) -> None:
        self.env.set_generator_state(state)

    def close(self) -> None:
        self.env.close()

    def _own_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the constructor's arguments without the environment."""
        args, kwargs = self._arguments
        return args[1:], {name: value for name, value in kwargs.items() if name != "env"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"


def _is_being_restored() -> bool:
    """Return whether the class that is being created gets its methods later.

    cloudpickle restores a class so: it calls ``types.new_class`` and then sets the attributes, ``_missing`` among them.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name in ("_refuse_incomplete", "__init_subclass__"):
        frame = frame.f_back
    return frame.f_globals.get("__name__") == "types"


def _positional_names(cls: type) -> tuple[str, ...]:
    """Return the constructor's positional names; none if it accepts any number or hides its code."""
    code = _constructor_code(cls)
    if code is None or code.co_flags & _VARIADIC_POSITIONAL:
        return ()
    return code.co_varnames[1 : code.co_argcount]


def _constructor_code(cls: type) -> CodeType | None:
    return getattr(getattr(cls, "__init__"), "__code__", None)  # noqa: B009  # mypy distrusts cls.__init__


def _check_signature(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if getattr(cls, "__init__") is object.__init__:  # noqa: B009  # as above; it takes anything where __new__ is overridden
        if args:
            raise ArgumentTypeError(f"{cls.__name__} got {len(args)} positional arguments; it takes none")
        check_names(cls.__name__, kwargs, ())
        return
    code = _constructor_code(cls)
    if code is None:  # one that a decorator replaced: Python itself checks
        return
    positional = code.co_varnames[1 : code.co_argcount]
    if len(args) > len(positional) and not code.co_flags & _VARIADIC_POSITIONAL:
        takes = f"takes {', '.join(positional)}" if positional else "takes none"
        raise ArgumentTypeError(
            f"{cls.__name__} got {len(args)} positional arguments; it {takes}. Use keyword arguments"
        )
    names = keyword_names(getattr(cls, "__init__"))  # noqa: B009  # as above
    if names is not None:
        check_names(cls.__name__, kwargs, names)


def _pack(rng: random.Random) -> Info:
    version, words, gauss = rng.getstate()
    packed = b64encode(_little_endian(array("I", words)).tobytes()).decode()
    return {"version": version, "words": packed, "gauss": gauss}


def _unpack(state: Any) -> random.Random:
    rng = random.Random(0)
    try:
        words = array("I", b64decode(state["words"], validate=True))
        gauss = None if state["gauss"] is None else real("gauss", state["gauss"])  # setstate takes anything
        rng.setstate((state["version"], tuple(_little_endian(words)), gauss))
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"not the state of a random generator: {error!r}") from error
    return rng


def _little_endian(words: array[int]) -> array[int]:
    if sys.byteorder == "big":
        words.byteswap()
    return words


def __getattr__(name: str) -> Any:
    from gem.migration import moved_attribute

    return moved_attribute(__name__, name)
