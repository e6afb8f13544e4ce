"""Compares this GEM with the original (`gem-llm`), paired in one run, in CPU seconds.

    python -m venv /tmp/original && /tmp/original/bin/pip install gem-llm datasets pandas pylatexenc requests
    python benchmarks/against_the_original.py --original /tmp/original/bin/python --nltk-data DIR

`DIR` is an NLTK data folder with the corpus `words`, which the original's word games read. Each figure is
measured in turn on both sides, several rounds; the tables show the median and the range of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
GAMES = (
    "Crosswords", "FifteenPuzzle", "Game2048", "GuessTheNumber", "Hangman", "Mastermind",
    "Minesweeper", "Sokoban", "Sudoku", "TowerofHanoi", "WordSearch", "Wordle",
)  # fmt: skip
SLOW_GENERATORS = ("game:Sudoku-v0-hard", "game:Sokoban-v0-easy", "game:Sokoban-v0-hard", "game:WordSearch-v0-hard")


@dataclass
class Figure:
    """One row: what was measured, the goal for ours relative to theirs, and the rounds."""

    name: str
    goal: float
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    higher_is_better: bool = True

    @property
    def ratios(self) -> list[float]:
        """How many times better ours is, round by round."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return [a / b if self.higher_is_better else b / a for a, b in pairs]

    def row(self, number: str = ",.0f") -> str:
        ratios = self.ratios
        met = "yes" if statistics.median(ratios) >= self.goal else "**no**"
        return (
            f"| {self.name} | {statistics.median(self.ours):{number}} | {statistics.median(self.theirs):{number}} "
            f"| {statistics.median(ratios):.1f} ({min(ratios):.1f} … {max(ratios):.1f}) | {self.goal:g} | {met} |"
        )


class Sides:
    """The two interpreters."""

    def __init__(self, original: str, nltk_data: str | None) -> None:
        self.pythons = {"ours": sys.executable, "theirs": original}
        self.environment = {**os.environ, **({"NLTK_DATA": nltk_data} if nltk_data else {})}

    @contextmanager
    def worker(self, side: str) -> Iterator[Callable[..., dict[str, float]]]:
        """Start a process; yield the function that has it measure."""
        # The original writes to stderr whenever it fails to download.
        process = subprocess.Popen(
            [self.pythons[side], str(WORKER)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def measure(*request: object) -> dict[str, float]:
            print(json.dumps(request), file=requests, flush=True)
            figures: dict[str, float] = json.loads(answers.readline())
            return figures

        with process:
            yield measure

    def cpu_seconds(self, side: str, *arguments: str) -> float:
        """Return the user and system time of a whole process."""
        child = subprocess.Popen(
            [self.pythons[side], *arguments], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        return usage.ru_utime + usage.ru_stime


def imports(sides: Sides, rounds: int) -> list[str]:
    """Return a table of import costs."""
    bare = [sides.cpu_seconds("ours", "-c", "pass") for _ in range(rounds)]
    figure = Figure("import gem, CPU s over bare Python", 20, higher_is_better=False)
    listing: list[float] = []
    for _ in range(rounds):
        base = statistics.median(bare)
        figure.ours.append(max(sides.cpu_seconds("ours", "-c", "import gem") - base, 0.0005))
        figure.theirs.append(sides.cpu_seconds("theirs", "-c", "import gem") - base)
        listing.append(sides.cpu_seconds("ours", "-m", "gem", "list"))
    median = statistics.median(listing)
    return [
        "| | ours | original | times better | goal | met |",
        "|---|---|---|---|---|---|",
        figure.row(".4f"),
        f"| gem list, CPU s | {median:.3f} ({min(listing):.3f} … {max(listing):.3f}) | | | ≤ 0.150 | "
        f"{'yes' if median <= 0.15 else '**no**'} |",
    ]


def rates(sides: Sides, what: str, title: str, ids: list[str], rounds: int, budget: float, goal: float) -> list[str]:
    """Return a table of rates, one row an environment."""
    lines = [f"| {title} per CPU s | ours | original | times better | goal | met |", "|---|---|---|---|---|---|"]
    for env_id in ids:
        figure = Figure(env_id, 20 if what == "resets" and env_id in SLOW_GENERATORS else goal)
        slowest = 0.0
        with sides.worker("ours") as ours, sides.worker("theirs") as theirs:
            for _ in range(rounds):
                own = ours(what, env_id, budget)
                figure.ours.append(own["per_second"])
                slowest = max(slowest, own.get("slowest", 0.0))
                figure.theirs.append(theirs(what, env_id, budget)["per_second"])
        lines.append(figure.row(",.0f" if figure.theirs[0] > 20 else ",.1f"))
        if slowest > 0.001:
            lines[-1] += f" slowest of ours {slowest * 1e3:.1f} ms |"
        print(lines[-1], file=sys.stderr)
    return lines


def histories(sides: Sides, rounds: int) -> list[str]:
    """Return the cost of whole episodes under concat_with_action."""
    lines = [
        "| concat_with_action, CPU s an episode | ours | original | times better | goal | met |",
        "|---|---|---|---|---|---|",
    ]
    for length, turns, what in (
        (20, 200, "concat"),
        (20, 800, "concat"),
        (200, 800, "concat"),
        (2000, 800, "concat"),
        (2000, 800, "concat_dropped"),
    ):
        kept = "kept until the next" if what == "concat" else "let go of at once"
        name = f"{turns} turns, actions of {length} characters, observations {kept}"
        figure = Figure(name, 10 if turns == 800 else 1, higher_is_better=False)
        with sides.worker("ours") as ours, sides.worker("theirs") as theirs:
            for _ in range(rounds):
                figure.ours.append(ours(what, length, turns)["seconds"])
                figure.theirs.append(theirs(what, length, turns)["seconds"])
        lines.append(figure.row(".5f"))
    return lines


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", required=True, help="a Python interpreter that has gem-llm")
    parser.add_argument("--nltk-data", help="NLTK data folder with the corpus 'words'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=1.0, help="CPU seconds per figure, side and round")
    parser.add_argument("--only", choices=["import", "steps", "resets", "seeded", "vector", "concat"], action="append")
    parser.add_argument("--games", nargs="*", default=list(GAMES))
    options = parser.parse_args()
    sides = Sides(options.original, options.nltk_data)
    ids = [f"game:{game}-v0-{variant}" for game in options.games for variant in ("easy", "hard")]
    easy = [env_id for env_id in ids if env_id.endswith("easy")]
    rounds, budget = options.rounds, options.budget
    sections = {
        "import": lambda: imports(sides, max(rounds, 7)),
        "steps": lambda: rates(sides, "steps", "steps", ids, rounds, budget, 1.5),
        "resets": lambda: rates(sides, "resets", "resets", ids, rounds, budget, 2),
        "seeded": lambda: rates(sides, "seeded_resets", "seeded resets", easy, rounds, budget, 1),
        "vector": lambda: rates(sides, "vector", "steps of 64 in threads", easy, rounds, budget, 2),
        "concat": lambda: histories(sides, rounds),
    }
    for name, section in sections.items():
        if not options.only or name in options.only:
            print("\n".join(section()), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
