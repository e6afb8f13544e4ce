"""A training run from outside: its figures, curves, trackers, its end by collapse, and its end by kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")
pytest.importorskip("gem_envs_games", reason="gem-envs-games is not installed")

from stopped_run import end_of  # noqa: E402

from gem.errors import MissingPluginError, PluginWarning  # noqa: E402
from gem_rl.cli.train import _progress_line, _success_figures, train_command  # noqa: E402
from gem_rl.training.curves import curves  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rl.training.update_trackers import UpdateTrackers  # noqa: E402
from gem_rollout.trajectory import Trajectory, Transition  # noqa: E402

SMALL = Recipe(
    {"game:GuessTheNumber-v0-easy": 1.0},
    kwargs={"max_turns": 3},
    algorithm="rebn",
    updates=8,
    episodes=64,
    minibatches=2,
    learning_rate=5e-3,
    warm_episodes=32,
    warm_steps=50,
    warm_learning_rate=1e-2,
    width=16,
    heads=2,
    max_new_tokens=6,
)
"""Its warm start takes a second and leaves a third of the actions malformed, each of which costs 0.1."""


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Let torch use one thread, as gem train does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def well_formed(trainer: Trainer) -> float:
    """Return the share of actions that the environment could read, over the last three updates."""
    return 1 - sum(line["malformed"] for line in trainer.folder.metrics[-3:]) / 3


@pytest.mark.parametrize(("learning_rate", "learns"), [(SMALL.learning_rate, True), (0.0, False)])
def test_a_short_run_learns_the_form_of_an_action(tmp_path: Path, learning_rate: float, learns: bool) -> None:
    """After eight updates most can be read, beyond a bar that a run with learning rate 0 misses."""
    trainer = Trainer(replace(SMALL, learning_rate=learning_rate), 0, tmp_path)
    trainer.train()
    assert (well_formed(trainer) > 0.8) is learns


def metrics(updates: int, **figures: Any) -> list[dict[str, Any]]:
    return [{"update": update + 1, "success": update / updates, **figures} for update in range(updates)]


def test_curves_have_a_panel_for_each_known_figure() -> None:
    """And one line for the values, another for their running mean."""
    picture = Xml.fromstring(curves(metrics(10, entropy=0.5, malformed=None), "a <title>"))
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "a <title>. Thin: each update. Thick: the mean of the last 6."
    assert "Success" in texts
    assert "Share of malformed actions" not in texts
    lines = list(picture.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 4
    heights = [float(point.split(",")[1]) for point in lines[0].attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)  # success rises, and y points down
    assert heights[0] > heights[-1]


def test_curves_of_nothing() -> None:
    """A run without updates has a picture without panels."""
    assert "polyline" not in curves([], "nothing")


class Tracker:
    """Keeps what it was given."""

    def __init__(self, folder: Path, fails: bool = False) -> None:
        self.calls: list[Any] = []
        self.fails = fails

    def update(self, figures: dict[str, Any], step: int) -> None:
        self.calls.append(step)
        if self.fails:
            raise OSError("the server is down")

    def close(self) -> None:
        self.calls.append("closed")


class SummaryTracker:
    """Has no method for updates, as trackers of evaluations."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[Any] = []

    def summary(self, figures: dict[str, Any]) -> None:
        self.calls.append(figures)

    def close(self) -> None:
        self.calls.append("closed")


def test_trackers_follow_the_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails warns once and ends nothing; one without updates gets the last figures at the end."""
    made: dict[str, Any] = {}

    def lookup(hook: str, name: str, *rest: Any) -> Any:
        assert hook == "gem_run_trackers"
        kind = {"good": Tracker, "bad": lambda folder: Tracker(folder, fails=True), "evaluation": SummaryTracker}[name]
        return lambda folder: made.setdefault(name, kind(folder))

    monkeypatch.setattr("gem_rl.training.update_trackers.lookup", lookup)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with UpdateTrackers(["good", "bad", "evaluation", "good"], tmp_path) as trackers:
            for line in metrics(3):
                trackers.update(line)
    assert [one.category for one in caught] == [PluginWarning]
    assert "OSError: the server is down" in str(caught[0].message)
    assert made["good"].calls == [1, 2, 3, "closed"]
    assert made["bad"].calls == [1]
    assert made["evaluation"].calls == [metrics(3)[-1], "closed"]


def test_an_unknown_tracker_is_named(tmp_path: Path) -> None:
    """Before anything is trained."""
    with pytest.raises(MissingPluginError, match="no run tracker is called 'nothing-like-it'"):
        UpdateTrackers(["nothing-like-it"], tmp_path)


def write_recipe(path: Path, **settings: Any) -> Path:
    """Write a recipe as TOML."""
    values = {name: value for name, value in {**SMALL.to_dict(), **settings}.items() if name != "environments"}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items() if not isinstance(value, dict))
    text += "environments = { 'game:GuessTheNumber-v0-easy' = 1.0 }\nkwargs = { max_turns = 3 }\n"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_command_trains_and_draws(tmp_path: Path) -> None:
    """TensorBoard gets the updates, the folder a picture, and the output the figures; a second call goes on."""
    pytest.importorskip("gem_eval")
    pytest.importorskip("tensorboardX")
    out = tmp_path / "run"
    config = write_recipe(tmp_path / "mine.toml", updates=2)
    arguments = ["--config", str(config), "--out", str(out), "--json", "--track", "tensorboard"]
    result = CliRunner().invoke(train_command, arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["updates"] == 2
    assert figures["cpu_seconds"] > 0
    Xml.parse(out / "curves.svg")
    events = b"".join(path.read_bytes() for path in (out / "tensorboard").iterdir())
    assert events.count(b"training/success") == 2
    assert b"training/entropy" in events
    again = CliRunner().invoke(train_command, arguments)
    assert json.loads(again.stdout)["sampled_success"] == figures["sampled_success"]
    other = CliRunner().invoke(train_command, [*arguments, "--threads", "2"])
    assert other.exit_code != 0
    assert "with threads = 1, and now it is 2" in str(other.exception)


def test_an_outcome_that_is_unknown_is_no_failure() -> None:
    """Neither in the line of the progress bar nor in the figures of a run, where no share is no share of 0."""
    nothing = dict.fromkeys(("turns_of_won_episodes", "success", "malformed"))
    assert _progress_line(nothing) == "success unknown"
    assert _progress_line({**nothing, "success": 0.0, "malformed": 0.5}) == "success 0%, 50% malformed"
    told = [Trajectory(None, 0, [Transition("o", "a", 0.0, True, False, {"success": won})]) for won in (True, False)]
    silent = Trajectory(None, 0, [Transition("o", "a", 0.0, True, False, {"user_fault": "nonsense"})])
    figures = _success_figures([{"success": None}, {"success": 0.5}], [*told, silent, silent])
    assert list(figures.values()) == [None, 0.5, 0.5, 4, 2]
    assert list(_success_figures([{"success": None}], [silent]).values()) == [None, None, None, 1, 1]


def test_an_unknown_device_is_named(tmp_path: Path) -> None:
    """In a sentence."""
    config = write_recipe(tmp_path / "mine.toml")
    result = CliRunner().invoke(train_command, ["--config", str(config), "--device", "abacus", "--out", str(tmp_path)])
    assert "torch cannot use the device 'abacus'" in str(result.exception)


def test_the_viewer_opens_a_run(tmp_path: Path) -> None:
    """With the recorded episodes of every update."""
    viewed = pytest.importorskip("gem_eval.runs.folder")
    trainer = Trainer(replace(SMALL, updates=1, warm_steps=5), 0, tmp_path / "run")
    trainer.train()
    folder = viewed.RunFolder.open(tmp_path / "run")
    assert folder.config.seed == 0


def test_collapse_stops_a_run_and_a_call_to_go_on(tmp_path: Path) -> None:
    """Training ends with a sentence, and a new trainer of the folder says it again at once."""
    recipe = replace(SMALL, warm_steps=0, learning_rate=1e-4, updates=9, episodes=8)
    stopped = Trainer(recipe, 0, tmp_path).train()
    assert stopped is not None
    assert stopped.startswith("collapse: ")
    again = Trainer(recipe, 0, tmp_path)
    assert again.update == 5
    assert again.train() == stopped
    assert again.update == 5


RUN = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from gem_rl.training.recipe import Recipe
from gem_rl.training.trainer import Trainer
import json
Trainer(Recipe.from_dict(json.loads(sys.argv[1])), 0, Path(sys.argv[2])).train()
"""


def start(recipe: Recipe, folder: Path) -> subprocess.Popen[bytes]:
    """Start a trainer in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", RUN, json.dumps(recipe.to_dict()), str(folder)])


def lines(folder: Path) -> int:
    """Return how many updates are in the metrics of a run."""
    try:
        return (folder / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


@pytest.mark.nightly
@pytest.mark.parametrize("keep_turns", [False, True])
def test_kill_9_at_random_moments_changes_no_weight(keep_turns: bool, tmp_path: Path) -> None:
    """Five processes are killed, each after one more update and a random number of looks at its files; the sixth
    finishes. Weights, optimizer, generators, metrics and episodes are those of a run that nothing disturbed.
    """
    recipe = replace(SMALL, updates=12, keep_turns=keep_turns)
    whole = Trainer(recipe, 0, tmp_path / "whole")
    whole.train()
    folder, chance = tmp_path / "killed é", random.Random(0)
    for number in range(6):
        process = start(recipe, folder)
        try:
            if number < 5:
                begun = lines(folder)
                while lines(folder) <= begun and process.poll() is None:
                    os.sched_yield()
                for _ in range(chance.randrange(40_000)):
                    lines(folder)
                process.send_signal(signal.SIGKILL)
            process.wait()
        finally:
            process.kill()
            process.wait()
    assert end_of(folder) == end_of(tmp_path / "whole")
    assert len(Trainer(recipe, 0, folder).folder.metrics) == 12


def test_lines_that_a_kill_cut_off_are_dropped(tmp_path: Path) -> None:
    """Half a line of metrics and half an episode: the run goes on to the weights of an undisturbed run."""
    recipe = replace(SMALL, updates=2, warm_steps=10, episodes=8)
    whole = Trainer(recipe, 0, tmp_path / "whole")
    whole.train()
    (tmp_path / "cut").mkdir()
    cut = Trainer(replace(recipe, updates=2), 0, tmp_path / "cut")
    for name in ("metrics.jsonl", "episodes.jsonl"):
        whole_text = (tmp_path / "whole" / name).read_bytes()
        (tmp_path / "cut" / name).write_bytes(whole_text[: len(whole_text) // 3])
    cut = Trainer(recipe, 0, tmp_path / "cut")
    assert (cut.update, cut.folder.metrics) == (0, [])
    cut.train()
    for one, other in zip(cut.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [line["update"] for line in cut.folder.metrics] == [1, 2]
