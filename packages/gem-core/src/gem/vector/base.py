"""The interface of all vector environments: :class:`VectorEnv`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gem.arguments import choice, integer, real
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError, VectorError
from gem.vector.call_arguments import (
    all_reset_arguments,
    chosen_actions,
    chosen_reset_arguments,
    env_indices,
    seed_list,
)
from gem.vector.env_runner import AutoresetMode, Maker, StepResult
from gem.vector.results import Ready, stack

if TYPE_CHECKING:
    from typing_extensions import Self

    from gem.vector.results import Flags, Floats

__all__ = ["VectorEnv"]

_LONGEST = 1e8  # seconds; a few years, and within the range of the system's clocks


class VectorEnv:
    """A fixed number of environments that are driven together.

    ``step`` is lock-step: it takes one action each and returns when all are done. ``send`` and ``recv`` let
    environments run ahead of each other: ``send`` returns at once, and ``recv`` returns the ready ones.
    An environment has at most one pending action. One caller at a time: a vector environment is not
    thread-safe.

    **Autoreset** (:class:`AutoresetMode`) says what follows the end of an episode. In the same step, the returned
    observation and info belong to the next episode. Those of the finished episode are in
    ``info["final_observation"]`` and ``info["final_info"]``. Reward and flags always belong to the finished episode.

    **Seeds.** Once a seed was given, each autoreset has a seed of its own, a function of that one and the number of
    episodes since. ``info["seed"]`` names the seed in the first and the last info of an episode (the latter is
    ``final_info`` with same-step autoreset), and ``env.reset(seed=info["seed"])`` begins the same episode anywhere. A
    question set keeps its order instead: ``env.reset(seed=info["seed"], options={"index": info["index"]})`` asks the
    same question. An episode of ``reset()`` without a seed goes on from the generator's state, so none is named.

    **Faults.** An environment that raises, or does not return within ``step_timeout``, ends its episode with
    reward 0.0, truncated, and ``info["error"]`` (type and message). It is rebuilt and seeded from its last
    seed and the number of its faults since, so a run with faults is reproducible too; the others are unaffected.
    With same-step autoreset ``final_info["error"]`` says that the finished episode failed; ``info["error"]`` is
    there as well, and alone if the finished episode was sound and the next one could not begin (its observation
    is then an empty str, and the next step tries again).

    A backend defines ``_submit_steps``, ``_submit_resets``, ``_collect`` and ``_shut_down``. This class
    makes all checks and keeps account of pending actions.
    """

    mode_choice: Any = None
    """Why ``mode="auto"`` has chosen this mode (``gem_processes.auto_mode.ModeChoice``); None where the caller has."""

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
    ) -> None:
        """Store the data from which the backend builds its environments.

        Args:
            makers: one for each environment; None for a member without one, until :meth:`send_make`.
            autoreset: what follows the end of an episode.
            seeds: for each environment, the seed of its first reset, unless that reset gives one.
            step_timeout: time limit of a step or reset in seconds, for modes that can enforce one.
        """
        integer("num_envs", len(makers), minimum=1)
        choice("autoreset", str(getattr(autoreset, "value", autoreset)), [mode.value for mode in AutoresetMode])
        self.num_envs = len(makers)
        self.autoreset = AutoresetMode(autoreset)
        self.step_timeout = step_timeout
        if step_timeout is not None:
            real("step_timeout", step_timeout, minimum=0.001, maximum=_LONGEST)
        self.closed = False
        self._makers = tuple(makers)
        self._seeds = seed_list("seeds", seeds, self.num_envs)
        self._unset = set(range(self.num_envs))  # never reset, or in an unknown state
        self._over: set[int] = set()  # finished, where nothing resets them
        self._pending: set[int] = set()
        self._lock_step = False  # whether the caller waits for all results of what is being submitted
        self._notify: Callable[[], None] | None = None
        self._arrived: dict[int, Any] = {}  # results that recv has not returned, in order of completion

    @property
    def envs(self) -> tuple[Env[Any, Any], ...]:
        """The environments; one that failed is replaced by a new one. For those of other processes, stand-ins.

        Raises:
            NotSupportedError: if they live elsewhere and the mode has no stand-ins.
        """
        raise NotSupportedError(f"the environments of {type(self).__name__} do not live in this process")

    def env_at(self, index: int) -> Env[Any, Any]:
        """Return one of :attr:`envs`, also while others have failed.

        Raises:
            NotSupportedError: if it lives elsewhere.
            VectorError: if it has failed and is not built again yet.
        """
        return self.envs[index]

    @property
    def specs(self) -> tuple[EnvSpec | None, ...]:
        """The spec of each environment; None for one that was constructed by hand."""
        return tuple(getattr(maker, "spec", None) for maker in self._makers)

    @property
    def num_pending(self) -> int:
        """Number of environments with an action or a reset whose result ``recv`` has not returned yet."""
        return len(self._pending)

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
        **env_kwargs: Mapping[str, Any],
    ) -> tuple[list[Any], list[Info]]:
        """Begin an episode in every environment, after waiting for pending results and dropping them.

        Args:
            seed: environment i is seeded with ``seed + i``, or with ``seed[i]``. Without one each continues from its
                generator's state; the first time, from the seed that the vector environment was made with.
            options: passed on to every environment, if given.
            **env_kwargs: ``env3_kwargs={…}`` passes further arguments to the reset of environment 3.

        Returns:
            Observations and infos, in the order of the environments. Where a reset failed, the observation is an
            empty str and the info has ``error``.

        Raises:
            VectorError: if every environment failed.
        """
        self._check_open()
        arguments = all_reset_arguments(seed, options, env_kwargs, self.num_envs)
        if self._pending:
            self._collect(len(self._pending), None)
            self._pending.clear()
        observations, infos = self._reset(range(self.num_envs), arguments)
        if all("error" in info for info in infos):
            self._unset.update(range(self.num_envs))
            raise VectorError(f"no environment could be reset; the first failed with {infos[0]['error']}")
        return observations, infos

    def reset_at(
        self, indices: Iterable[int] | Mapping[int, int | None], options: Mapping[str, Any] | None = None
    ) -> tuple[list[Any], list[Info]]:
        """Begin an episode in some environments and wait for them; see :meth:`send_reset`.

        Raises:
            VectorError: if anything is pending.
        """
        self._check_open()
        chosen, arguments = chosen_reset_arguments(indices, options, self.num_envs)
        self._check_idle("reset_at")
        return self._reset(chosen, arguments)

    def step(self, actions: Sequence[Any] | Mapping[int, Any]) -> tuple[list[Any], Floats, Flags, Flags, list[Info]]:
        """Play one turn in every environment, or in those that a mapping names.

        Args:
            actions: one for each environment, or a mapping from index to action. Results come in the same order.

        Returns:
            Observations (list), rewards (float64), terminations and truncations (bool), infos (list).

        Raises:
            ArgumentError, ArgumentTypeError: if there is not one action for each environment.
            VectorError: if an environment has to be reset first, or anything is pending. No environment was
                touched.
        """
        self._check_open()
        indices, values = chosen_actions(actions, self.num_envs)
        self._check_idle("step")
        self._check_steppable(indices)
        self._begin(indices)
        self._lock_step = True
        try:
            self._submit_steps(indices, values)
        finally:
            self._lock_step = False
        return stack(self._gather(indices))

    def send(self, actions: Sequence[Any] | Mapping[int, Any]) -> None:
        """Begin a turn in every environment, or in those that a mapping names, and return at once.

        Raises:
            ArgumentError, ArgumentTypeError: if there is not one action for each environment.
            VectorError: if an environment has to be reset first, or still has something pending. No environment
                was touched.
        """
        self._check_open()
        indices, values = chosen_actions(actions, self.num_envs)
        self._check_free(indices)
        self._check_steppable(indices)
        self._begin(indices)
        self._submit_steps(indices, values)

    def send_reset(
        self, indices: Iterable[int] | Mapping[int, int | None], options: Mapping[str, Any] | None = None
    ) -> None:
        """Begin an episode in some environments and return at once; ``recv`` returns the results.

        Args:
            indices: the environments; or a mapping from index to seed (without the index added).
            options: passed on to each environment, if given.

        Raises:
            VectorError: if one of them still has something pending. No environment was touched.
        """
        self._check_open()
        chosen, arguments = chosen_reset_arguments(indices, options, self.num_envs)
        self._check_free(chosen)
        self._begin(chosen)
        self._submit_resets(chosen, arguments)

    def send_make(self, index: int, maker: Maker) -> None:
        """Begin to put another environment in the place of one, and return at once.

        The old one is closed and the new one made where the environment's steps run, since either may take long.
        ``recv`` returns the result: an empty observation and an empty info, or ``info["error"]``
        and truncated if the environment could not be made. It then needs a reset.

        Raises:
            VectorError: if the environment still has something pending.
            NotSupportedError: if this mode cannot replace environments.
        """
        self._check_open()
        (chosen,) = env_indices([index], self.num_envs)
        self._check_free([chosen])
        self._begin([chosen])
        self._submit_make(chosen, maker)

    def recv(self, min_ready: int = 1, timeout: float | None = None) -> Ready:
        """Return the environments that are ready.

        Args:
            min_ready: wait for at least this number.
            timeout: seconds after which to return the ready ones, possibly none.

        Raises:
            VectorError: if fewer than ``min_ready`` are pending.
        """
        self._check_open()
        integer("min_ready", min_ready, minimum=1)
        if timeout is not None:
            real("timeout", timeout, minimum=0.0, maximum=_LONGEST)
        if min_ready > len(self._pending):
            raise VectorError(
                f"{min_ready} results are wanted and {len(self._pending)} are pending; send() actions or resets first"
            )
        self._collect(min_ready, timeout)
        for index, result in self._arrived.items():
            if type(result) is not tuple:
                del self._arrived[index]  # the results of the others come with the next call
                self._pending.discard(index)
                self._unset.add(index)
                raise result
        ready = dict(self._arrived)
        self._pending.difference_update(ready)
        self._arrived.clear()
        self._note(ready)
        return Ready(list(ready), *stack(list(ready.values())))

    def close(self) -> None:
        """Close all environments, and end the threads or processes of the mode; calling it again does nothing.

        Pending results are lost. An environment in the middle of a step is closed when the step returns.

        Raises:
            VectorError: if environments failed to close; the others were closed.
        """
        if not self.closed:
            self.closed = True
            self._pending.clear()
            self._arrived.clear()
            self._shut_down()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_envs={self.num_envs}, autoreset={self.autoreset.value!r})"

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        """Begin ``EnvRunner.step`` with these actions; every index is valid and has nothing pending."""
        raise NotImplementedError

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        """Begin ``EnvRunner.reset`` with these arguments; every index is valid and has nothing pending."""
        raise NotImplementedError

    def _submit_make(self, index: int, maker: Maker) -> None:
        """Begin ``EnvRunner.make``; the index is valid and has nothing pending."""
        raise NotSupportedError(f"{type(self).__name__} cannot replace an environment by another")

    def _engine_access(self) -> Any:
        """Return the :class:`gem.vector.engine_access.EngineAccess` of this backend; None for the common one."""
        return None

    def _watch(self) -> None:
        """Arrange a call of ``_notify`` at the next result; an engine then collects those that are there."""
        raise NotSupportedError(f"{type(self).__name__} cannot notify of results")

    def _collect(self, count: int, timeout: float | None) -> None:
        """Put results into ``_arrived`` (index → result) in order of completion.

        Waits until it holds ``count`` or ``timeout`` seconds have passed, and adds all there are. An exception of a
        runner takes the place of its result. An exception of the waiting itself (``KeyboardInterrupt``) loses
        no result: it comes with the next call.
        """
        raise NotImplementedError

    def _shut_down(self) -> None:
        """Close the environments and end threads, processes and connections; called once."""
        raise NotImplementedError

    def _reset(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Info]]:
        self._begin(indices)
        self._submit_resets(indices, arguments)
        results = self._gather(indices)
        return [result[0] for result in results], [result[4] for result in results]

    def _begin(self, indices: Sequence[int]) -> None:
        if not self._pending:
            self._arrived.clear()  # results of an interrupted call
        self._pending.update(indices)

    def _gather(self, indices: Sequence[int]) -> list[StepResult]:
        """Wait for all pending results, which are those of ``indices``, and return them in this order."""
        self._collect(len(indices), None)
        results = [self._arrived[index] for index in indices]
        errors = {index: result for index, result in self._arrived.items() if type(result) is not tuple}
        self._pending.clear()
        self._note(self._arrived if not errors else {i: self._arrived[i] for i in indices if i not in errors})
        if errors:
            self._unset.update(errors)
            raise errors[min(errors)]
        return results

    def _note(self, arrived: Mapping[int, StepResult]) -> None:
        if self._unset:
            self._unset.difference_update(arrived)
        if self.autoreset is AutoresetMode.DISABLED:
            for index, (_, _, terminated, truncated, _) in arrived.items():
                if terminated or truncated:
                    self._over.add(index)
                else:
                    self._over.discard(index)

    def _check_open(self) -> None:
        if self.closed:
            raise VectorError(f"{self!r} is closed; make another with gem.make_vec")

    def _check_idle(self, name: str) -> None:
        if self._pending:
            raise VectorError(
                f"{name}() while {len(self._pending)} results are pending; recv() them first, or reset() to drop them"
            )

    def _check_free(self, indices: Sequence[int]) -> None:
        if self._pending and not self._pending.isdisjoint(indices):
            first = next(index for index in indices if index in self._pending)
            raise VectorError(f"environment {first} has not finished what was sent to it; recv() its result first")

    def _check_steppable(self, indices: Sequence[int]) -> None:
        if self._unset and not self._unset.isdisjoint(indices):
            first = next(index for index in indices if index in self._unset)
            raise VectorError(f"environment {first} has no episode to step in; call reset(), or reset_at([{first}])")
        if self._over and not self._over.isdisjoint(indices):
            first = next(index for index in indices if index in self._over)
            raise VectorError(
                f"the episode of environment {first} is over, and autoreset is disabled; call reset_at([{first}]), "
                f"or send_reset([{first}]) and recv()"
            )
