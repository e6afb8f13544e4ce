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

**Action**: a str, or an assistant message, a dict with ``content`` and ``tool_calls``, where tools are called natively.

**terminated** means that the task is decided, and a learner must not bootstrap. Running out of the turns
that the instructions announced decides the task too; ``truncated`` is then true as well. A limit
unknown to the agent (a wrapper's budget, a time limit, a fault) is ``truncated`` alone.

**info** is JSON-serialisable and belongs to the caller: the environment never changes it later. Every
key is optional. These have a fixed meaning:

============================  ==========================================================================
``turn``                      int, turns taken in this episode (0 after ``reset``)
``action_status``             ``"legal"``, ``"illegal"`` (understood, against the rules) or ``"malformed"``
``success``                   bool, on the last step of an episode: whether the task was achieved
``correct``                   bool, on the last step of a question: whether the answer was right
``index``                     int, the row of this question in its set (``gem.data.QuestionEnv``)
``epoch``                     int, on ``reset``: number of times that the order had covered the whole set
``parsed_action``             str, the part of the action that was acted on; history shows it instead
``prefix``, ``suffix``        str, put before and after the joined observations by observation wrappers
``error``                     str, with ``truncated`` alone: the environment failed, and the episode counts for nothing
``user_fault``                str, the simulated user has spoiled the episode, which says nothing about the agent
``grader_fault``              str, the grader failed or had nothing to grade with; says nothing about the agent either
``env_reward``                float, the environment's own reward (the wrapper ``transform_reward``)
``scores``                    dict, label of a reward → its score of the episode (same)
``grade``                     ``"same"``, ``"different"`` or ``"unreadable"``, on the last step of a question: the
                              grader's verdict; ``"unreadable"`` also where the answer is not in the form asked for
``attempt``                   int, attempts at this task so far (:class:`gem.wrappers.attempts.Attempts`)
``use_tool``                  bool, this step was answered by a tool (:class:`gem.tools.ToolEnvWrapper`)
``tool_name``, ``tool_type``  str, which tool answered
``tool_error``                bool, the tool call failed
``tool_results``              list, the result of each call; see :class:`gem.tools.ToolEnvWrapper`
``tool_use_counter``          int, tool calls in this episode
``tool_success_counter``      int, tool calls in this episode that succeeded
``step_counter``              int, steps of this episode (:class:`gem.wrappers.tracking.EpisodeTracking`)
``cumulative_rewards``        float, rewards of this episode so far (same)
``prev_ep_…``                 on ``reset``: the counters of the episode before
``seed``                      int, with autoreset, on the first and the last step of an episode: the seed with which
                              ``reset`` plays it again; for a question also its ``index``, as a reset option
``final_observation``         with same-step autoreset: the finished episode's last observation
``final_info``                with same-step autoreset: the finished episode's last info
============================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from gem.construction import Constructed
from gem.errors import ArgumentTypeError, NotSupportedError, StateError
from gem.forwarding import Forwarding
from gem.generators import Seeded

if TYPE_CHECKING:
    from typing_extensions import Self

    from gem.env_spec import EnvSpec

__all__ = ["ActT", "Action", "Env", "Info", "ObsT", "Observation", "Wrapper"]

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")

Info = dict[str, Any]
Observation = str | list[dict[str, Any]]
Action = str | dict[str, Any]


class Env(Constructed, Seeded, Generic[ObsT, ActT]):
    """One task, or an endless supply of tasks, that an agent acts in turn by turn.

    A subclass defines ``reset`` and ``step``; a good one also ``sample_random_action``, ``get_state`` and
    ``set_state``. Its episodes draw from ``self.rng`` alone, its random actions from ``self.action_rng``. Instances are
    not thread-safe, but share nothing: any number may run side by side.
    """

    spec: EnvSpec | None = None
    """The spec from which this environment was made; None if it was constructed by hand."""

    follows_order: bool = False
    """Whether resets without a seed go through an order that the last seed began, as a question set does.

    Autoreset brings such an environment no seeds, so that the order is kept.
    """

    _required: ClassVar[tuple[str, ...]] = ("reset", "step")

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
            self._seed_generators(seed)
        return None  # type: ignore[return-value]  # only subclasses have an observation to return

    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, Info]:
        """Play one turn; return observation, reward, terminated, truncated and info.

        No action raises: any output of a model is at worst a malformed action with its documented reward.

        Raises:
            ResetNeededError: before the first ``reset``, and after a ``reset`` that failed.
            EpisodeFinishedError: after ``terminated`` or ``truncated`` was returned.
        """
        raise NotImplementedError

    def sample_random_action(self) -> ActT:
        """Return a random well-formed action, drawn from ``self.action_rng``.

        Raises:
            ResetNeededError: before the first ``reset``, where the actions depend on the episode.
        """
        raise NotSupportedError(f"{type(self).__name__} does not implement sample_random_action")

    def get_state(self) -> dict[str, Any]:
        """Return everything that the rest of the run depends on, as a JSON-serialisable dict.

        Another instance made with the same arguments and set to this state (also after a round trip through JSON)
        continues identically, in this episode and all that follow. There is a state before the first ``reset`` too.
        """
        raise NotSupportedError(f"{type(self).__name__} does not implement get_state")

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that ``get_state`` returned; no ``reset`` is needed before.

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
        args, own_kwargs = self._arguments_with(kwargs)
        twin = type(self)(*args, **own_kwargs)
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

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{'()' if self.spec is None else f'<{self.spec.id}>'}"


class Wrapper(Forwarding, Env[ObsT, ActT]):
    """An environment around an environment; by itself it changes nothing.

    Attributes are forwarded live: reading ``wrapper.name`` reads ``wrapper.env.name`` at that moment. A wrapper with a
    state of its own overrides ``_own_state`` and ``_set_own_state``.
    """

    env: Env[Any, Any]

    def __init__(self, env: Env[Any, Any]) -> None:
        if not isinstance(env, Env):
            raise ArgumentTypeError(f"a wrapper needs a gem.Env, got an object of type {type(env).__name__}")
        self.env = env

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # live, with this wrapper added
        inner = self.env.spec
        return None if inner is None else inner.with_wrapper(type(self), *self._own_arguments())

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsT, Info]:
        # ``options`` is passed on only when given: published environments have reset(self, seed=None).
        if options is None:
            return self.env.reset(seed=seed)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, Info]:
        return self.env.step(action)

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

    def _own_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the constructor's arguments without the environment."""
        args, kwargs = self._arguments
        return args[1:], {name: value for name, value in kwargs.items() if name != "env"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"
