"""What a client asks for when it opens a session: :class:`OpenRequest`, and what of it is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.arguments import choice, integer, nearest, real, seed_value
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError, UnknownEnvironmentError
from gem.vector.env_runner import AutoresetMode
from gem_server.settings import ServingSettings

__all__ = ["OpenRequest"]

HARMLESS_WRAPPERS = frozenset(
    {
        "attempts",
        "concat",
        "concat_chat_on_reset",
        "concat_with_action",
        "episode_tracking",
        "messages",
        "time_limit",
        "wall_clock_limit",
    }
)


@dataclass(frozen=True)
class OpenRequest:
    """What a client asks for when it opens a session; checked by :meth:`check`."""

    env_id: str
    seed: int | None = None
    autoreset: str = "disabled"
    arguments: Mapping[str, Any] | None = None
    wrappers: Sequence[str] = ()
    step_timeout: float | None = None
    lost: str = ""
    """The cause by which an earlier session of the client was lost. An episode that it was in is over: the first step
    says so, and the next seeds go on where its account ends."""
    account: Sequence[int | None] | None = None
    """The account of that session (:class:`gem.vector.runner_account.RunnerAccount`)."""

    def check(self, specs: Mapping[str, EnvSpec], settings: ServingSettings) -> None:
        """Check what a client asks for against what is served and allowed.

        Raises:
            UnknownEnvironmentError: if the id is not served.
            NotSupportedError: if arguments or wrappers are not allowed.
            ArgumentError, ArgumentTypeError: for other values out of range.
        """
        if self.env_id not in specs:
            hint = nearest(str(self.env_id), specs)
            advice = f"did you mean {hint!r}?" if hint else "GET /v1/environments lists what is served"
            raise UnknownEnvironmentError(f"this server does not serve {self.env_id!r}; {advice}")
        if self.seed is not None:
            seed_value(self.seed)
        choice("autoreset", self.autoreset, [mode.value for mode in AutoresetMode])
        if not isinstance(self.arguments or {}, Mapping):
            raise ArgumentTypeError(f"arguments must be a JSON object, got {type(self.arguments).__name__}")
        if self.arguments and not settings.arguments:
            raise NotSupportedError(
                f"this server takes no constructor arguments, got {', '.join(map(repr, self.arguments))}; "
                "its operator allows them with gem serve --allow-arguments"
            )
        if isinstance(self.wrappers, str) or not all(isinstance(name, str) for name in self.wrappers):
            raise ArgumentTypeError("wrappers must be a list of names")
        for name in (part.strip() for item in self.wrappers for part in item.split(",")):
            if name not in HARMLESS_WRAPPERS and name not in settings.wrappers:
                raise NotSupportedError(
                    f"this server does not apply the wrapper {name!r}; "
                    f"its operator allows it with gem serve --allow-wrapper {name}"
                )
        if self.step_timeout is not None:
            real("step_timeout", self.step_timeout, minimum=0.001, maximum=settings.step_timeout)
        if not isinstance(self.lost, str) or bool(self.lost) != (self.account is not None):
            raise ArgumentError("lost is a text, and comes with an account")
        if self.account is not None:
            _check_account(self.account)


def _check_account(account: Any) -> None:
    if not isinstance(account, (list, tuple)) or len(account) != 5:
        raise ArgumentError("an account has five values: seed, faults, episodes, seed of the episode, phase")
    seed, faults, episodes, episode_seed, phase = account
    for value in (seed, episode_seed):
        if value is not None:
            seed_value(value)
    for name, value in (("faults", faults), ("episodes", episodes), ("phase", phase)):
        integer(name, value, minimum=0, maximum=2 if name == "phase" else None)
