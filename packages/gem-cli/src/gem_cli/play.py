"""``gem play``."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from gem.core import Env, Info
from gem.errors import GemError, NotSupportedError
from gem.policies import Policy, make_policy
from gem.text import TERMINAL_STATE
from gem_cli.completers import complete_ids
from gem_cli.output import as_text, json_option, print_json, print_prose

if TYPE_CHECKING:
    from gem.trajectory import Trajectory

__all__ = ["play_command"]

HELP = """Type an action and press enter. Where the environment wants \\boxed{…}, the box may be left out.
Several lines can be pasted; an action may also begin with a line ``` and end with another.
  /hint     show the reference policy's action
  /random   play a random action
  /new      begin another episode
  /help     show this text
  /quit     leave (so does ctrl-d)"""

_PASTE_SECONDS = 0.05  # lines that a terminal has within this time after another were pasted with it


@click.command("play")
@click.argument("env_id", metavar="ID", shell_complete=complete_ids)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the first episode; without one, chance decides.")
@click.option("--out", type=click.Path(dir_okay=False), help="Append the finished episodes to this JSONL file.")
@click.option("--strict", is_flag=True, help="Play a malformed action as it is typed; without it, play asks again.")
@json_option
def play_command(env_id: str, seed: int | None, out: str | None, strict: bool, as_json: bool) -> None:
    """Play an environment yourself, in the terminal.

    An action that the environment cannot read costs nothing: the command asks again, unless --strict is given.

    \b
    Example:
      gem play game:Minesweeper-v0-easy --seed 7
    """
    from gem.registry import make

    if out is not None or as_json:
        import gem.trajectory  # before the game, as it comes with a package of its own
    with make(env_id) as env:
        screen = _Screen(env, quiet=as_json, strict=strict)
        screen.show(HELP, style="dim")
        while (finished := screen.play_episode(seed)) is not None:
            if out is not None:
                with gem.trajectory.TrajectoryWriter(out) as writer:
                    writer.write(finished.recorded(env))
            if as_json:
                print_json(finished.recorded(env).to_dict(whole=True))
                return
            if not screen.asks_for_another():
                return
            seed = None


@dataclass
class _Episode:
    """What a person has played."""

    seed: int | None
    reset_info: Info
    observation: Any
    """The latest."""
    turns: list[tuple[Any, str, float, bool, bool, Info]] = field(default_factory=list)
    """Of each turn the observation before it, the action, and what the step returned beside the next observation."""

    def recorded(self, env: Env[Any, Any]) -> Trajectory:
        """Return the record of the episode, which gem-rollout makes."""
        from gem.trajectory import Trajectory, Transition

        return Trajectory(
            env.spec,
            self.seed,
            [Transition(*turn) for turn in self.turns],
            reset_info=self.reset_info,
            final_observation=self.observation,
            agent="human",
        )


class _Screen:
    """A person, an environment, and the screen between them."""

    def __init__(self, env: Env[Any, Any], quiet: bool, strict: bool) -> None:
        self.env = env
        self.quiet = quiet
        self.strict = strict

    def play_episode(self, seed: int | None) -> _Episode | None:
        """Play to the end and return the episode; None if the person leaves."""
        record, hints = self._begin(seed)
        boxed = "\\boxed{" in str(record.observation)
        while True:
            observation = record.observation
            action = self._ask(hints.hint(observation), boxed)
            if action == "/quit":
                return None
            if action == "/new":
                record, hints = self._begin(None)
                continue
            before = self._state()
            after, reward, terminated, truncated, info = self.env.step(action)
            if before is not None and info.get("action_status") == "malformed":
                self.env.set_state(before)
                self.show(f"Not understood, and not counted: {_first_line(after)}", style="yellow")
                continue
            hints.played(action)
            record.turns.append((observation, action, reward, terminated, truncated, info))
            record.observation = after
            if reward:
                self.show(f"reward {reward:+.3g}", style="green" if reward > 0 else "red")
            self.show()
            if after != TERMINAL_STATE:
                self.show(as_text(after))
            if terminated or truncated:
                if info.get("correct") is False:
                    self.show(hints.answer(), style="dim")
                self.show(
                    f"Return {sum(turn[2] for turn in record.turns):.3g} in {len(record.turns)} turns.", style="bold"
                )
                return record

    def asks_for_another(self) -> bool:
        """Ask whether to go on after an episode. The commands that make sense here work as within an episode."""
        while True:
            typed = self._line("Another episode? [Y/n]").lower()
            if typed in ("", "y", "yes", "/new"):
                return True
            if typed in ("n", "no", "/quit"):
                return False
            self.show("Type y or n, /new or /quit.", style="dim")

    def _state(self) -> dict[str, Any] | None:
        """Return the state to which a malformed action returns; None if it is to be played."""
        if self.strict:
            return None
        try:
            return self.env.get_state()
        except NotSupportedError:
            return None

    def _line(self, prompt: str) -> str:
        try:
            line = str(click.prompt(prompt, prompt_suffix=" ", default="", show_default=False, err=self.quiet))
        except click.Abort:
            return "/quit"
        return line.strip()

    def _begin(self, seed: int | None) -> tuple[_Episode, _Hints]:
        observation, info = self.env.reset(seed=seed)
        self.show()
        self.show(as_text(observation))
        return _Episode(seed, info, observation), _Hints(self.env, observation, info)

    def show(self, text: str = "", style: str = "") -> None:
        if not self.quiet:
            print_prose(text, style=style)

    def _ask(self, hint: str, boxed: bool) -> str:
        while True:
            first = self._line(">")
            typed = "\n".join([first, *self._more_lines(first)]).strip()
            if typed in ("/quit", "/new"):
                return typed
            if typed == "/help":
                self.show(HELP, style="dim")
            elif typed == "/hint":
                self.show(hint, style="dim")
            elif typed == "/random":
                action = str(self.env.sample_random_action())
                self.show(action, style="dim")
                return action
            elif typed.startswith("/"):
                self.show("There are /hint, /random, /new, /help and /quit.", style="dim")
            elif typed:
                bare = boxed and "\\boxed" not in typed and "```" not in typed
                return f"\\boxed{{{typed}}}" if bare else typed

    def _more_lines(self, first: str) -> Iterator[str]:
        """Yield the lines that follow one: up to the end of its fence, or those that were pasted with it."""
        if first.startswith("```"):
            while (line := self._line("…")) != "/quit":
                yield line
                if line == "```":
                    return
        # Windows cannot wait for a terminal this way; there, a fence is the way to type several lines.
        while sys.platform != "win32" and sys.stdin.isatty() and select.select([sys.stdin], [], [], _PASTE_SECONDS)[0]:
            line = sys.stdin.readline()
            if not line:
                return
            yield line.rstrip("\n")


def _first_line(observation: Any) -> str:
    return as_text(observation).strip().partition("\n")[0]


class _Hints:
    """The reference policy's action. The policy follows every turn, since it may remember observations."""

    def __init__(self, env: Env[Any, Any], observation: Any, info: Info) -> None:
        self._env = env
        self.first = (observation, info)
        self.last = ""
        self.policy: Policy[Any, Any] | None
        try:
            self.policy = make_policy("reference", env)
            self.policy.reset(observation, info)
        except GemError:
            self.policy = None

    def hint(self, observation: Any) -> str:
        if self.policy is None:
            return "This environment has no reference policy to ask."
        try:
            self.last = str(self.policy.act(observation, {}))
        except Exception:  # a policy may rely on its own moves having been played
            self.policy = None
            return "The reference policy has no action here."
        return self.last

    def answer(self) -> str:
        """Return the sentence that is shown after a wrong answer to a question."""
        try:
            return f"The answer was {as_text(make_policy('reference', self._env).act(*self.first))}"
        except Exception:  # no reference policy, or one that cannot act after the end
            return "The answer was wrong."

    def played(self, action: str) -> None:
        """Reset the policy to the next observation if the person did not follow its plan."""
        if self.policy is not None and action != self.last:
            self.policy.reset(*self.first)
