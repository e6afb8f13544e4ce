"""Makes the picture of gem view for the documents, from a run that it plays.

    python -m devtools.viewer_image [--out docs/images/viewer.png]

A scripted player behind ``gem fake-model`` guesses numbers, mostly well; ``gem eval`` plays the episodes; Chromium
shows the page. The episodes are the same in every run, the times are not.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devtools.shell import ROOT, run

if TYPE_CHECKING:
    from gem_eval.fake_model import ModelAnswer
    from gem_eval.fake_model.model_request import ModelRequest

ENVIRONMENTS = ("game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0", "game:GuessTheNumber-v0-hard")
LAPSES = 0.45
"""Share of the turns in which the player does not take the middle."""

SLIPS = 0.02
"""Share of the turns in which it forgets the form of the answer, which ends the game."""


def player(request: ModelRequest) -> ModelAnswer:
    """Answer as a player who halves the range, most of the time, and says why."""
    from gem_eval.fake_model.conversation import observations
    from gem_eval.fake_model.model_request import ModelAnswer

    seen = observations(request.messages)
    low, high = map(int, re.findall(r"from (\d+) to (\d+)", seen[0])[0])
    for text in seen[1:]:
        for word, guess in re.findall(r"number is (higher|lower) than (\d+)", text):
            low, high = (int(guess) + 1, high) if word == "higher" else (low, int(guess) - 1)
    middle = (low + high) // 2
    lapse = request.rng.random() < LAPSES
    guess = low if lapse else middle
    why = "I go through them one by one" if lapse else f"The middle of that is {middle}"
    reasoning = f"The number lies between {low} and {high}. {why}, so I say {guess}."
    answer = str(guess) if request.rng.random() < SLIPS else f"\\boxed{{{guess}}}"
    return ModelAnswer(text=f"My guess is {answer}.", reasoning=reasoning)


def main() -> None:
    """Play, look, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images/viewer.png")
    parser.add_argument("--address", default="#/0?sort=seed", help="What to show, as in the address of the page.")
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--dark", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "guess-the-number"
        _play(folder)
        _photograph(folder, arguments)
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


def _play(folder: Path) -> None:
    from gem_eval.fake_model import FakeModel, Latency
    from gem_eval.fake_model.background import FakeModelThread

    model = FakeModel(player, model="a-small-model", dialect="vllm", latency=Latency(0.05, 0.5))
    with FakeModelThread(model) as served:
        settings = ["--episodes", "200", "--group", "4", "--logprobs", "4", "--concurrency", "32", "--seed", "0"]
        more = ["--base-url", served.url, "--price-input", "0.1", "--price-output", "0.4", "--out", str(folder)]
        run(sys.executable, "-m", "gem", "eval", *ENVIRONMENTS, *settings, *more)


def _photograph(folder: Path, arguments: argparse.Namespace) -> None:
    sys.path.append(str(ROOT / "packages/gem-eval/tests"))
    chromium: Any = import_module("chromium")  # lies with the tests, which no type checker sees
    from gem_eval.viewer.server import serve_runs
    from gem_eval.viewer.viewed_run import ViewedRun

    width, height = map(int, arguments.size.split("x"))
    with tempfile.TemporaryDirectory() as profile, chromium.Chromium(Path(profile)) as browser:
        serving = serve_runs([ViewedRun(folder)])
        address = browser.loop.run(serving.__aenter__())
        page = browser.page(width, height, dark=arguments.dark)
        page.goto(address + arguments.address)
        page.wait_for("document.querySelector('.plot, .turn.drawn')")
        page.evaluate("document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 300)))")
        page.screenshot(arguments.out)
        browser.loop.run(serving.__aexit__(None, None, None))


if __name__ == "__main__":
    main()
