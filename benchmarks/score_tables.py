"""Scores of policies over seeded episodes, and the tables of scores in the documents."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gem
from gem.core import Env
from gem.env_spec import EnvSpec
from gem.ids import parse_id
from gem.policies import Policy
from gem_rollout.speed import measure
from gem_testing.scores import AgentScore

ROOT = Path(__file__).parents[1]
END = "<!-- end of the table -->\n"
FOREVER = 1e9  # seconds: the number of episodes alone ends a measurement


@dataclass(frozen=True)
class ScoreTable:
    """The table in a document that a script of this folder writes.

    Args:
        document: its path in the repository.
        script: the script's name.
        header: the titles, and the line below them.
    """

    document: str
    script: str
    header: str

    def written(self, rows: Iterable[str], page: str, origin: str | None = None) -> str:
        """Return the text of the page with these rows in place of its own.

        Args:
            rows: lines of the table.
            page: the text of the document.
            origin: the line below the table on where it comes from; None: the one that the page has.
        """
        begin = f"<!-- python benchmarks/{self.script} writes this table -->\n"
        before, _, rest = page.partition(begin)
        old, _, after = rest.partition(END)
        if origin is None:
            origin = next((line for line in old.splitlines() if line.startswith("*`")), "")
        below = f"\n{origin}\n" if origin else ""
        return f"{before}{begin}\n{self.header}{''.join(rows)}{below}\n{END}{after}"

    def write(self, rows: Iterable[str]) -> None:
        """Put these rows into the document, and below them the command, the date and the versions."""
        path = ROOT / self.document
        today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
        package = Path(self.document).parts[1] if self.document.startswith("packages/") else "gem-envs-games"
        versions = f"python {platform.python_version()}, {package} {version(package)}"
        origin = (
            f"*`python benchmarks/{self.script}`, {today}, {platform.system()} on {platform.machine()}; {versions}*"
        )
        path.write_text(self.written(rows, path.read_text(encoding="utf-8"), origin), encoding="utf-8")


def mean_and_turns(env: Env[Any, Any], policy: Policy[Any, Any], episodes: int) -> tuple[float, float]:
    """Return the mean return of a policy over the seeds 0 …, and its mean number of turns."""
    total, turns = 0.0, 0
    for seed in range(episodes):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total, turns, over = total + reward, turns + 1, terminated or truncated
    return total / episodes, turns / episodes


def with_error(score: AgentScore) -> str:
    """Return a mean with its standard error, where there is one."""
    if score.mean is None:
        raise SystemExit(f"no score: {score.error}")
    spread = f" ± {score.standard_error:.3f}" if score.standard_error >= 0.0005 else ""
    return f"{score.mean + 0.0:.3f}{spread}".replace("-", "−")


def speed_cells(spec: EnvSpec) -> tuple[str, str]:
    """Return steps per CPU second and the slowest reset."""
    speed = measure(spec, 1.0, 0)
    return f"{speed.steps_per_cpu_second:,.0f}", f"{1000 * speed.slowest_reset_cpu_seconds:.1f} ms"


def base_of(spec: EnvSpec) -> str:
    """Return the id without its variant."""
    return spec.id.removesuffix(f"-{parse_id(spec.id).variant}")


def max_turns(spec: EnvSpec) -> str:
    """Return the turns that an environment gives."""
    with gem.make(spec) as env:
        return str(env.unwrapped.max_turns)


def line(spec: EnvSpec, *cells: str) -> str:
    """Return a line of a table that begins with the id."""
    return f"| `{spec.id}` | {' | '.join(cells)} |\n"


def write_or_print(
    table: ScoreTable,
    ids: Iterable[str],
    row: Callable[[EnvSpec, int], str],
    description: str | None,
    episodes: int = 200,
) -> None:
    """Write a table, or print its rows of the ids on the command line.

    Args:
        table: the table.
        ids: of all its rows.
        row: returns the line of a spec, of so many episodes.
        description: of the script, for ``--help``.
        episodes: by default.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--episodes", type=int, default=episodes)
    options = parser.parse_args()
    rows = []
    for env_id in options.ids or ids:
        rows.append(row(gem.spec(env_id), options.episodes))
        sys.stdout.write(rows[-1])
        sys.stdout.flush()
    if not options.ids:
        table.write(rows)
