"""Run trackers: what they write, and that none of their faults ends a run."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gem.errors import MissingPluginError, PluginWarning
from gem_eval.runs import RunFolder
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.trackers import RunTracking, episode_figures, flat_figures
from gem_eval.trackers import tracking as tracking_module
from gem_eval.trackers.jsonl import JsonlTracker
from gem_eval.trackers.tensorboard import TensorboardTracker
from gem_eval.trackers.tracker import needs_library, run_settings, service_run
from gem_rollout.trajectory import Failure, Trajectory, Transition


def episode(seed: int = 0, **fields: Any) -> Trajectory:
    """Return an episode of one turn."""
    turn = Transition("o", "a", 0.5, True, False, {"success": True}, usage={"prompt_tokens": 7, "completion_tokens": 3})
    return Trajectory(None, seed, [turn], metadata={"label": "game:X"}, **fields)


class Recording:
    """Keeps what it is told, and misbehaves as told."""

    made: ClassVar[list[Recording]] = []

    def __init__(self, folder: Path) -> None:
        self.calls: list[str] = []
        self.fault = ""
        self.hold = threading.Event()
        self.hold.set()
        Recording.made.append(self)

    def episode(self, trajectory: Trajectory) -> None:
        self.hold.wait(60)
        self.calls.append(f"episode {trajectory.seed}")
        if self.fault == "episode":
            raise RuntimeError("no connection")

    def summary(self, figures: Mapping[str, Any]) -> None:
        self.calls.append("summary")

    def close(self) -> None:
        self.calls.append("close")
        if self.fault == "close":
            raise OSError("disk full")


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[RunTracking, Recording]]:
    """A tracking with one tracker of the tests."""
    monkeypatch.setattr(tracking_module, "lookup", lambda hook, name, kind: Recording)
    tracking = RunTracking(["recording"], tmp_path)
    yield tracking, Recording.made[-1]
    Recording.made[-1].hold.set()


def test_calls_arrive_in_their_order(recording: tuple[RunTracking, Recording]) -> None:
    """Every episode, then the summary, then the end."""
    tracking, tracker = recording
    for seed in range(3):
        tracking.episode(episode(seed))
    tracking.summary({})
    tracking.close()
    tracking.close()
    assert tracker.calls == ["episode 0", "episode 1", "episode 2", "summary", "close"]


def test_a_tracker_that_raises_is_not_called_again(recording: tuple[RunTracking, Recording]) -> None:
    """The run goes on, and one warning names the tracker and the fault."""
    tracking, tracker = recording
    tracker.fault = "episode"
    for seed in range(3):
        tracking.episode(episode(seed))
    with pytest.warns(PluginWarning, match=r"recording: failed.*no connection"):
        tracking.close()
    assert tracker.calls == ["episode 0", "close"]


def test_a_tracker_that_cannot_close_is_reported(recording: tuple[RunTracking, Recording]) -> None:
    """It raises nothing."""
    tracking, tracker = recording
    tracker.fault = "close"
    with pytest.warns(PluginWarning, match="disk full"):
        tracking.close()


def test_a_tracker_that_hangs_is_left_behind(recording: tuple[RunTracking, Recording]) -> None:
    """Neither an episode nor the end of the run waits for it longer than allowed."""
    tracking, tracker = recording
    tracker.hold.clear()
    tracking.episode(episode())
    with pytest.warns(PluginWarning, match="did not end within"):
        tracking.close(seconds=0.01)


def test_a_tracker_that_is_too_slow_misses_episodes(
    recording: tuple[RunTracking, Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for it is bounded, and the warning counts what it missed."""
    tracking, tracker = recording
    tracker.hold.clear()
    for seed in range(1200):
        tracking.episode(episode(seed))
    tracker.hold.set()
    with pytest.warns(PluginWarning, match=r"missed (199|200) episodes"):
        tracking.close()
    assert len(tracker.calls) in (1001, 1002)
    assert tracker.calls[-1] == "close"


def test_an_unknown_tracker_is_named(tmp_path: Path) -> None:
    """With the nearest name, and before a run begins."""
    with pytest.raises(MissingPluginError, match="did you mean 'jsonl'"):
        RunTracking(["json"], tmp_path)
    with pytest.raises(MissingPluginError, match="did you mean 'tensorboard'"):
        RunTracking.check(["tensorbord"])


def test_a_tracker_that_cannot_begin_is_a_mistake_in_the_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever its library raises, the sentence names the tracker and what it said, and those before it are closed."""

    def broken(folder: Path) -> Recording:
        raise OSError("no key")

    makers = {"recording": Recording, "broken": broken}
    monkeypatch.setattr(tracking_module, "lookup", lambda hook, name, kind: makers[name])
    with pytest.raises(EvaluationConfigError, match="run tracker broken cannot begin: OSError: no key"):
        RunTracking(["recording", "broken"], tmp_path)
    assert Recording.made[-1].calls == ["close"]


def test_a_missing_library_is_named_before_a_run_begins() -> None:
    """With the line that installs it, for a module and for one within a package that is missing."""
    for module in ("no_such_library", "no_such_library.inner"):
        with pytest.raises(
            MissingPluginError, match=rf"needs the library {module}; run: pip install 'gem-eval\[wandb\]'"
        ):
            needs_library("wandb", module)
    needs_library("wandb", "json", "xml.dom")


def test_a_run_keeps_its_id_at_a_service(tmp_path: Path) -> None:
    """The first call begins a run, later ones go on with it, and another service has its own."""
    begun: list[str | None] = []

    def begin(known: str | None) -> str:
        begun.append(known)
        return known or "r7"

    assert [service_run(tmp_path, "a", begin) for _ in range(2)] == ["r7", "r7"]
    service_run(tmp_path, "b", begin)
    assert begun == [None, "r7", None]


def test_the_settings_of_a_run_are_texts(tmp_path: Path) -> None:
    """By the path to each; what is unset or derived is left out, and a folder without a configuration has none."""
    assert run_settings(tmp_path) == {}
    environments = [{"label": "game:X", "spec": {"id": "game:X"}}, {"id": "game:Y"}]
    record = {"schema": 1, "environments": environments, "limits": {"turns": 3}, "model": None, "packages": {"a": "1"}}
    (tmp_path / "run.json").write_text(json.dumps({**record, "rewards": [{"name": "x"}, "y"], "track": []}))
    settings = run_settings(tmp_path)
    assert settings == {"environments": "game:X, game:Y", "limits/turns": "3", "rewards": '{"name": "x"}, y'}


def test_the_figures_of_an_episode() -> None:
    """Numbers that are known, scores among them; an unreadable score and unknown figures are left out."""
    scores = {"style": {"value": 0.25}, "lost": {"value": 0.0, "metadata": {"grade": "unreadable"}}}
    figures = episode_figures(episode(scores=scores))
    assert figures["return"] == 0.5
    assert (figures["success"], figures["completion_tokens"], figures["score/style"]) == (1.0, 3.0, 0.25)
    assert not {"score/lost", "seconds"} & figures.keys()
    assert episode_figures(episode(failure=Failure("endpoint", "timeout", "late", 0)))["failed"] == 1.0


def test_nested_figures_have_paths() -> None:
    """Lists of environments go by their names; text, None and infinities are left out."""
    nested = {
        "name": "x",
        "environments": [{"env": "game:X", "success": {"value": 0.5, "low": None}}, 3],
        "n": float("inf"),
    }
    assert dict(flat_figures(nested)) == {"environments/game:X/success/value": 0.5, "environments/1": 3.0}


def test_jsonl_continues_the_count_of_a_run(tmp_path: Path) -> None:
    """The step of an episode is its number within the run, also after a resume."""
    (tmp_path / "episodes.jsonl").write_text("{}\n{}\n")
    tracker = JsonlTracker(tmp_path)
    tracker.episode(episode(5))
    tracker.episode(episode(6, agent="\ud800"))
    tracker.summary({"a": {"b": 1}, "path": tmp_path})
    tracker.close()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line.get("step"), line.get("seed")) for line in lines] == [(2, 5), (3, 6), (None, None)]
    assert lines[2]["summary"]["a"] == {"b": 1}


def test_tensorboard_holds_every_figure(tmp_path: Path) -> None:
    """Read back from the event file: a scalar for each figure of each episode, and those of the run."""
    from tensorboardX.proto.event_pb2 import Event

    tracker = TensorboardTracker(tmp_path)
    tracker.episode(episode())
    tracker.episode(episode(scores={"style": {"value": 0.25}}))
    tracker.summary({"success": 0.75})
    tracker.close()
    (file,) = (tmp_path / "tensorboard").iterdir()
    found = {}
    content = file.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        event = Event.FromString(content[12 : 12 + length])
        found.update({(event.step, item.tag): item.simple_value for item in event.summary.value})
        content = content[16 + length :]
    tags = {(step, tag.replace("_", ":")): value for (step, tag), value in found.items()}
    assert tags[0, "game:X/return"] == 0.5
    assert tags[1, "game:X/score/style"] == 0.25
    assert tags[2, "summary/success"] == 0.75


def test_an_evaluation_is_tracked(tmp_path: Path) -> None:
    """Gem eval passes on every episode and the figures of the run."""
    from gem_eval.runs.evaluation import evaluate

    config = {
        "environments": [{"id": "game:GuessTheNumber-v0-easy"}],
        "agent": "reference",
        "episodes": 3,
        "track": ["jsonl"],
    }
    folder = asyncio.run(evaluate(config, out=tmp_path / "run"))
    assert isinstance(folder, RunFolder)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line.get("step") for line in lines] == [0, 1, 2, None]
    assert lines[-1]["summary"]["environments"][0]["episodes"] == 3
