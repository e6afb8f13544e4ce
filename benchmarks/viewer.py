"""Measures gem view in Chromium on a large run.

    python benchmarks/viewer.py [--episodes 10000] [--megabytes 200] [--folder DIR]

The run is made up and the same every time. ``gem view`` serves it from a process of its own; Chromium, headless, opens
the page with an empty cache. Times in the browser are wall-clock times, so a busy machine makes them longer, as the
frames of an empty page tell; those of the server are CPU times.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "packages/gem-eval/tests"))

from chromium import Chromium, ChromiumPage  # noqa: E402

from gem.env_spec import EnvSpec  # noqa: E402
from gem_eval.runs import RunConfig, RunEnvironment, RunFolder  # noqa: E402
from gem_rollout.trajectory import Trajectory, Transition  # noqa: E402

ROWS_SECONDS = 1.5
FRAME_MILLISECONDS = 100
"""The goals: seconds until rows are on the screen, and the longest pause in scrolling."""

OPENINGS = 5
EVERY_FRAME = """
new Promise((resolve) => {
  const deltas = [];
  let last = performance.now();
  const end = last + 4000;
  const step = (document.body.scrollHeight - innerHeight) / 200;
  requestAnimationFrame(function frame(now) {
    deltas.push(now - last);
    last = now;
    scrollBy(0, step);
    if (now < end) requestAnimationFrame(frame);
    else resolve(deltas.slice(1));
  });
})
"""
FIRST_ROWS = """
new MutationObserver((_, observer) => {
  if (document.querySelectorAll(".rows .row").length < 5) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.rowsAt = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""


def make_run(folder: Path, episodes: int, megabytes: float) -> None:
    """Write a run of episodes of 2 to 8 turns."""
    chance = random.Random(0)
    ids = ["game:GuessTheNumber-v0-easy", "math:WordProblems-v0", "qa:Atlas-v0", "code:Mini-v0"]
    specs = [EnvSpec(id=each, entry_point="made_up.environment:MadeUpEnv") for each in ids]
    environments = tuple(RunEnvironment(s.id, s.id, s, None, episodes // len(ids), 4, 0) for s in specs)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(4000)]
    characters = int(megabytes * 1e6 / episodes / 5 / 2)  # of an observation and an action, with 5 turns in the mean
    with RunFolder.create(folder, RunConfig(environments=environments, agent="made-up", episodes=episodes)) as run:
        for number in range(episodes):
            turns = chance.randint(2, 8)
            solved = chance.random() < 0.6
            transitions = [
                Transition(
                    observation=_text(chance, words, characters),
                    action=_text(chance, words, characters),
                    reward=float(solved and turn == turns - 1),
                    terminated=turn == turns - 1,
                    truncated=False,
                    info={"success": solved} if turn == turns - 1 else {},
                    usage={"prompt_tokens": 900, "completion_tokens": chance.randint(50, 900)},
                    act_seconds=chance.expovariate(1.0),
                    step_seconds=chance.expovariate(100.0),
                )
                for turn in range(turns)
            ]
            spec = specs[number % len(specs)]
            run.append(
                Trajectory(spec, number // 16, transitions, repetition=number // 4 % 4, stop_reason="terminated")
            )


def _text(chance: random.Random, words: list[str], characters: int) -> str:
    start = chance.randrange(3000)
    text = " ".join(words[start : start + 300])
    return (text * (characters // len(text) + 1))[:characters]


class Served:
    """``gem view`` in a process of its own; a context manager."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "gem", "view", str(folder), "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def opened(browser: Chromium, address: str) -> tuple[ChromiumPage, float]:
    """Open a page and return it with the seconds until rows were on the screen."""
    page = browser.page()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=FIRST_ROWS)
    page.goto(address)
    page.wait_for("globalThis.rowsAt")
    return page, page.evaluate("rowsAt") / 1000


def timed(page: ChromiumPage, action: str, until: str) -> float:
    """Return the milliseconds from an action to the frame in which a condition holds."""
    milliseconds: float = page.evaluate(
        f"""new Promise((resolve) => {{
          const start = performance.now();
          {action};
          const end = () => resolve(performance.now() - start);
          const look = () => (({until}) ? requestAnimationFrame(end) : setTimeout(look));
          look();
        }})"""
    )
    return milliseconds


def measure(folder: Path) -> dict[str, Any]:
    """Return all figures."""
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as profile, Chromium(Path(profile)) as browser, Served(folder) as served:
        before = served.cpu_seconds()
        pages = [opened(browser, served.address) for _ in range(OPENINGS)]
        rows["rows on the screen, s (first)"] = pages[0][1]
        rows["rows on the screen, s (median)"] = statistics.median(seconds for _, seconds in pages)
        rows["CPU of the server for an opening, s"] = (served.cpu_seconds() - before) / OPENINGS
        page = pages[-1][0]
        empty = browser.page()
        empty.evaluate("document.body.style.height = '340000px'")
        rows |= _frames("an empty page", empty)
        empty.close()
        for other, _ in pages[:-1]:
            other.close()
        page.wait_for("document.querySelector('.plot')")
        page.call("HeapProfiler.collectGarbage")
        rows["heap, MB"] = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        rows["elements in the document"] = page.evaluate("document.querySelectorAll('*').length")
        rows |= _frames("scrolling", page)
        page.evaluate("scrollTo(0, 0)")
        heading = "document.querySelectorAll('.head button')[3]"
        rows["sort, ms"] = timed(page, f"{heading}.click()", "document.querySelector('.head [aria-sort$=scending]')")
        search = "const search = document.querySelector('input[type=search]'); search.value = 'atlas'"
        shown = "document.querySelector('.result').textContent.includes(' of ')"
        rows["filter, ms"] = timed(page, f"{search}; search.dispatchEvent(new Event('input'))", shown)
        clicked = "document.querySelector('.rows a.open').click()"
        rows["open an episode, ms"] = timed(page, clicked, "document.querySelector('.turn.drawn')")
    return rows


def _frames(name: str, page: ChromiumPage) -> dict[str, float]:
    """Return the time between frames while a page is scrolled from top to bottom in 200 of them."""
    frames = sorted(page.evaluate(EVERY_FRAME))
    chosen = {"median": len(frames) // 2, "p99": int(len(frames) * 0.99), "longest": -1}
    return {f"{name}: frame, ms ({which})": frames[index] for which, index in chosen.items()}


def cpu_of(action: Callable[[], object]) -> float:
    """Return the CPU seconds of a call in this process."""
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    """Make the run, measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--folder", type=Path, help="Where to keep the run for the next time.")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (arguments.folder or Path(scratch)) / "run"
        if not folder.exists():
            make_run(folder, arguments.episodes, arguments.megabytes)
        size = (folder / "episodes.jsonl").stat().st_size
        rows = {"episodes": arguments.episodes, "MB": size / 1e6}
        (folder / "index.jsonl").unlink()
        rows["CPU to make a missing index, s"] = cpu_of(lambda: RunFolder(folder).rows())
        rows |= measure(folder)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    for name, value in rows.items():
        print(f"{name:<40}{value:>10,.3f}" if isinstance(value, float) else f"{name:<40}{value:>10,}")
    kept = (
        rows["rows on the screen, s (median)"] < ROWS_SECONDS
        and rows["scrolling: frame, ms (longest)"] < FRAME_MILLISECONDS
    )
    print("within the goals" if kept else f"goals: rows in {ROWS_SECONDS} s, no frame above {FRAME_MILLISECONDS} ms")


if __name__ == "__main__":
    main()
