"""``gem rollout``."""

from __future__ import annotations

import math
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from gem.counts import counted
from gem_cli.completers import complete_agents, complete_ids, complete_modes, complete_wrappers
from gem_cli.output import Table, json_option, print_json, print_prose
from gem_cli.progress import progress

if TYPE_CHECKING:
    from gem_rollout import EpisodeStream
    from gem_rollout.trajectory import Trajectory

__all__ = ["rollout_command"]


@click.command("rollout")
@click.argument("env_ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_ids)
@click.option(
    "--agent",
    help="random, reference, null, or a policy of yours: module:Class  [random]",
    shell_complete=complete_agents,
)
@click.option(
    "--harness",
    metavar="NAME",
    help="Agent program that plays with a model: codex, qwen-code …, command:PROGRAM, python:MODULE:FUNCTION.",
)
@click.option("--base-url", "-u", help="With --harness: address of the model's server, or transformers:FOLDER.")
@click.option("--model", "-m", help="With --harness: name of the model; without it, the only one that the server has.")
@click.option("--api-key-env", metavar="NAME", help="Variable that holds the server's key  [OPENAI_API_KEY]")
@click.option(
    "--harness-box",
    "box",
    type=click.Choice(["auto", "always", "never"]),
    help="Whether the program runs in a box, such as the container of a task  [auto: where it can]",
)
@click.option(
    "--server-tool",
    "server_tools",
    metavar="KIND=TOOL",
    multiple=True,
    help="With --harness: carry out web_search=search:WHERE (a corpus, an address, a web search) or "
    "code_interpreter=python, where the program asks its model's server for one.",
)
@click.option("--max-calls", "calls", type=click.IntRange(min=1), help="Most calls of the model in an episode.")
@click.option(
    "--exact-tokens",
    is_flag=True,
    help="With --harness: prompts hold exactly the token ids that were sampled before; the server must give them.",
)
@click.option(
    "--opponent",
    "opponents",
    multiple=True,
    help="Where several agents act: a policy for the other seats, drawn for each seed; may be repeated. --agent has "
    "one seat, which changes from episode to episode.",
    shell_complete=complete_agents,
)
@click.option(
    "--episodes", type=click.IntRange(min=1), default=16, show_default=True, help="Episodes of each environment."
)
@click.option("--group", type=click.IntRange(min=1), default=1, show_default=True, help="Episodes of one seed.")
@click.option(
    "--concurrency",
    "--num-envs",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Episodes at a time.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the first episode.")
@click.option(
    "--wrappers",
    default="",
    help="Names joined by commas, from the inside out: concat_with_action,…",
    shell_complete=complete_wrappers,
)
@click.option("--mode", default="thread", show_default=True, help="Vectorization mode.", shell_complete=complete_modes)
@click.option("--max-turns", type=click.IntRange(min=1), help="End an episode, truncated, after so many turns.")
@click.option("--step-timeout", type=click.FloatRange(min=0.001), help="Seconds that a step may take.")
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Repetitions of an episode whose environment failed.",
)
@click.option("--out", type=click.Path(dir_okay=False), help="Append the episodes to this JSONL file.")
@json_option
def rollout_command(
    env_ids: tuple[str, ...],
    agent: str | None,
    harness: str | None,
    base_url: str | None,
    model: str | None,
    api_key_env: str | None,
    box: str | None,
    server_tools: tuple[str, ...],
    calls: int | None,
    exact_tokens: bool,
    opponents: tuple[str, ...],
    episodes: int,
    group: int,
    concurrency: int,
    seed: int,
    wrappers: str,
    mode: str,
    max_turns: int | None,
    step_timeout: float | None,
    retries: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Run an agent in many episodes at once.

    Prints its results, and records the episodes with --out. Ctrl-C drops the episodes that are not finished; all others
    are recorded and counted. With --harness, an agent program plays, with a model behind --base-url.

    \b
    Examples:
      gem rollout game:Sudoku-v0-easy --agent reference --episodes 32
      gem rollout game:Wordle-v0-easy game:Hangman-v0-easy --concurrency 64 --out runs/words.jsonl
      gem rollout game:Wordle-v0-easy --agent my_agent:MyPolicy --episodes 64 --group 8 --max-turns 20
      gem rollout game:Sudoku-v0-easy --harness qwen-code --base-url http://localhost:8000/v1 --out runs/qwen.jsonl
      gem rollout duel:LiarsDice-v0 --agent reference --opponent random --opponent null --group 4
    """
    from functools import partial

    from gem.registry import spec as find_spec
    from gem_rollout import EpisodeLimits, Seating, rollout, summarize
    from gem_rollout.cli.failures import print_failures
    from gem_rollout.cli.player import open_player
    from gem_rollout.seating import make_agent_policy
    from gem_rollout.trajectory import TrajectoryWriter

    begin, cpu_begin = time.perf_counter(), time.process_time()
    steps = finished = 0
    failures: Counter[str] = Counter()
    messages: dict[str, str] = {}
    # By id, so that an environment that is named twice is played once.
    specs = {spec.id: spec for spec in map(find_spec, env_ids)}
    options = {"box": box, "calls": calls, "exact_tokens": exact_tokens or None, "server_tools": server_tools or None}
    given = {name: value for name, value in options.items() if value is not None}
    player = open_player(agent, harness, (base_url, model, api_key_env), given)
    pool = {name: partial(make_agent_policy, name) for name in opponents}
    writer = nullcontext(None) if out is None else TrajectoryWriter(out)
    with writer as sink, progress() as bar:
        task = bar.add_task("episodes", total=episodes * len(specs), note="")
        played = rollout(
            specs,
            Seating({**pool, player.name: player.make_policy}, evaluated=player.name) if pool else player.make_policy,
            num_envs=concurrency,
            episodes=episodes,
            group=group,
            seed=seed,
            agent=player.name,
            wrappers=wrappers,
            mode=mode,
            limits=EpisodeLimits(max_turns=max_turns, step_timeout=step_timeout),
            retries=retries,
            at_close=player.close,
        )

        def recorded() -> Iterator[Trajectory]:
            """Yield each episode once it is in the file, so that none has to stay in memory."""
            nonlocal steps, finished
            for trajectory in played:
                if sink is not None:
                    sink.write(trajectory)
                steps += len(trajectory)
                finished += 1
                if trajectory.failure is not None:
                    kind = f"{trajectory.failure.source}/{trajectory.failure.kind}"
                    failures[kind] += 1
                    messages.setdefault(kind, trajectory.failure.message)
                bar.update(task, advance=1, note=f"return {trajectory.episode_return:.2f}")
                yield trajectory

        with played, _stopped_by_ctrl_c(played) as interrupted:
            results = summarize(recorded())
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    order = {env_id: position for position, env_id in enumerate(specs)}
    summaries = sorted((asdict(item) for item in results), key=lambda item: order[item["env_id"]])
    if as_json:
        report = {"agent": player.name, "seed": seed, "steps": steps, "seconds": seconds, "cpu_seconds": cpu_seconds}
        report["interrupted"] = bool(interrupted)
        print_json({**report, "out": out, "environments": [_without_nan(item) for item in summaries]})
    else:
        _print_summary(summaries)
        rate = f"{steps} steps in {seconds:.2f} s: {steps / seconds:,.0f} steps per second, agent included"
        print_prose(rate, style="dim")
        if out is not None:
            print_prose(f"recorded in {out}; read it with: gem show {out}", style="dim")
        if failures:
            count = failures.total()
            print_failures("every episode" if count == finished else counted(count, "episode"), failures, messages)
        if interrupted:
            print_prose(f"interrupted after {finished} of {episodes * len(specs)} episodes", style="yellow")
    if interrupted:
        raise SystemExit(_INTERRUPTED)


_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it


@contextmanager
def _stopped_by_ctrl_c(played: EpisodeStream) -> Iterator[list[int]]:
    """Let the first Ctrl-C stop the episodes, instead of raising in the middle of a write; a second one raises.

    Yields:
        A list that holds the signal once it has come.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        played.stop()

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not in the main thread, which alone may set handlers
        yield received
        return
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, before)


def _print_summary(summaries: list[dict[str, Any]]) -> None:
    from gem_rollout.trajectory.outcome import success_text

    columns = ("episodes", "mean return", "std error", "success", "turns", "errors")
    rows = Table(("environment", *columns), right=columns)
    for item in summaries:
        rows.add_row(
            item["env_id"],
            str(item["episodes"]),
            f"{item['mean_return']:.3f}",
            f"{item['standard_error']:.3f}",
            success_text(item["successes"], item["judged"], item["unknown"]),
            f"{item['mean_turns']:.1f}",
            str(item["errors"]) if item["errors"] else "",
        )
    rows.show()


def _without_nan(item: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in item.items()}
