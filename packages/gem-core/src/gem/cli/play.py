"""``gem play``."""

from __future__ import annotations

from typing import Any

import click

from gem.cli.output import as_text, console, json_option, print_json
from gem.core import Env, Info
from gem.errors import GemError
from gem.policies import Policy, make_policy
from gem.trajectory import Trajectory, TrajectoryWriter, Transition

__all__ = ["play_command"]

HELP = """Type an action and press enter. Where the environment wants \\boxed{…}, the box may be left out.
  /hint     show the reference policy's action
  /random   play a random action
  /new      begin another episode
  /quit     leave (so does ctrl-d)"""


@click.command("play")
@click.argument("env_id", metavar="ID")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the first episode; without one, chance decides.")
@click.option("--out", type=click.Path(dir_okay=False), help="Append the finished episodes to this JSONL file.")
@json_option
def play_command(env_id: str, seed: int | None, out: str | None, as_json: bool) -> None:
    """Play an environment yourself, in the terminal.

    \b
    Example:
      gem play game:Minesweeper-v0-easy --seed 7
    """
    from gem.registry import make

    with make(env_id) as env:
        screen = _Screen(env, quiet=as_json)
        screen.show(HELP, style="dim")
        while (finished := screen.play_episode(seed)) is not None:
            if out is not None:
                with TrajectoryWriter(out) as writer:
                    writer.write(finished)
            if as_json:
                print_json(finished.to_dict())
                return
            if not click.confirm("Another episode?", default=True):
                return
            seed = None


class _Screen:
    """A person, an environment, and the screen between them."""

    def __init__(self, env: Env[Any, Any], quiet: bool) -> None:
        self.env = env
        self.quiet = quiet
        self.console = console()

    def play_episode(self, seed: int | None) -> Trajectory | None:
        """Play to the end and return the record; None if the person leaves."""
        record, hints = self._begin(seed)
        boxed = "\\boxed{" in str(record.final_observation)
        while True:
            observation = record.final_observation
            action = self._ask(hints.hint(observation), boxed)
            if action == "/quit":
                return None
            if action == "/new":
                record, hints = self._begin(None)
                continue
            hints.played(action)
            after, reward, terminated, truncated, info = self.env.step(action)
            record.transitions.append(Transition(observation, action, reward, terminated, truncated, info))
            record.final_observation = after
            if reward:
                self.show(f"reward {reward:+.3g}", style="green" if reward > 0 else "red")
            self.show()
            self.show(as_text(after))
            if terminated or truncated:
                self.show(f"Return {record.episode_return:.3g} in {len(record)} turns.", style="bold")
                return record

    def _begin(self, seed: int | None) -> tuple[Trajectory, _Hints]:
        observation, info = self.env.reset(seed=seed)
        self.show()
        self.show(as_text(observation))
        record = Trajectory(self.env.spec, seed, reset_info=info, final_observation=observation, agent="human")
        return record, _Hints(self.env, observation, info)

    def show(self, text: str = "", style: str | None = None) -> None:
        if not self.quiet:
            self.console.print(text, markup=False, style=style, soft_wrap=True)

    def _ask(self, hint: str, boxed: bool) -> str:
        while True:
            try:
                typed = str(
                    click.prompt(">", prompt_suffix=" ", default="", show_default=False, err=self.quiet)
                ).strip()
            except click.Abort:
                return "/quit"
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
                return f"\\boxed{{{typed}}}" if boxed and "\\boxed" not in typed else typed


class _Hints:
    """The reference policy's action. The policy follows every turn, since it may remember observations."""

    def __init__(self, env: Env[Any, Any], observation: Any, info: Info) -> None:
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

    def played(self, action: str) -> None:
        """Reset the policy to the next observation if the person did not follow its plan."""
        if self.policy is not None and action != self.last:
            self.policy.reset(*self.first)
