"""Scores of policies over seeded episodes, and the tables of scores in the documents."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gem.core import Env
from gem.policies import Policy

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
