"""One session as its client knows it: :class:`ClientSession`."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from gem.errors import GemError
from gem.vector.env_runner import StepResult
from gem.vector.runner_account import RunnerAccount, RunnerPhase
from gem_server.client.address import EnvAddress
from gem_server.errors import ServiceUnavailableError

if TYPE_CHECKING:
    from gem_server.client.reconnecting_link import ReconnectingLink

__all__ = ["ClientSession"]


class ClientSession:
    """Name, call under way, and account of a session.

    The account follows from the results. With it another server goes on with the seeds where this one has stopped.

    Attributes:
        phase: ``new`` (unknown to the server), ``opening``, ``resuming``, or ``open``.
        call: name and argument of the call without a result; None if there is none.
        sequence: step id of the last call.
        lost: why an earlier session in this place was lost; empty if none was.
    """

    __slots__ = ("account", "address", "call", "fields", "follows_order", "link", "lost", "name", "phase", "sequence")

    def __init__(self, address: EnvAddress, fields: dict[str, Any], link: ReconnectingLink) -> None:
        self.address = address
        self.fields = fields
        self.link = link
        self.name = secrets.token_hex(16)
        self.sequence = 0
        self.call: tuple[str, Any] | None = ("open", None)
        self.phase = "new"
        self.account = RunnerAccount.first(fields.get("seed"))
        self.lost = ""
        self.follows_order = False

    @property
    def may_be_open(self) -> bool:
        """Whether the server has said that it knows the session."""
        return self.phase in ("open", "resuming")

    def opening(self, number: int, resume: bool = False) -> list[Any]:
        """Return the call that opens the session, or attaches to it."""
        self.phase = "resuming" if resume else "opening"
        asked: dict[str, Any] = {"session": self.name, "env": self.address.env_id, **self.fields}
        if resume:
            asked["resume"] = True
        elif self.lost:
            asked.update(lost=self.lost, account=self.account)
        return [number, 0, "open", asked]

    def begin(self, name: str, argument: Any) -> None:
        """Note a call."""
        self.call = (name, argument)
        self.sequence += 1
        if name == "reset" and argument.get("seed") is not None:
            self.account = self.account._replace(seed=argument["seed"], faults=0, episodes=0)

    def end(self, result: StepResult) -> None:
        """Note the result of a step or reset."""
        self.call = None
        _, _, terminated, truncated, info = result
        if terminated or truncated or not self.account.is_playing:
            failed = not terminated and ("error" in info or "error" in info.get("final_info", ()))
            over = (terminated or truncated) and "final_info" not in info
            account = self.account._replace(
                faults=self.account.faults + failed, phase=RunnerPhase.OVER if over else RunnerPhase.PLAYING
            )
            if not over:
                account = account._replace(episodes=account.episodes + 1, episode_seed=info.get("seed"))
            self.account = account

    def start_over(self, cause: str) -> None:
        """Take a new name, since the session of the old one is gone, and its episode with it."""
        self.name = secrets.token_hex(16)
        self.sequence = 1 if self.call is not None and self.call[0] != "open" else 0
        self.lost = cause
        self.phase = "new"

    def failure(self, call: tuple[str, Any], error: str) -> StepResult | GemError:
        """Return the result of a call that no server could run."""
        if call[0] not in ("step", "reset"):
            return ServiceUnavailableError(error)
        info: dict[str, Any] = {"error": error}
        if call[0] == "step" and self.fields.get("autoreset") == "same_step":
            info.update(final_observation="", final_info={"error": error})
        return "", 0.0, False, True, info
