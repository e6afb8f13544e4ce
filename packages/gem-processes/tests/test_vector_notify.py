"""Vector environments behind an event loop: notify, take_ready, send_make."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from gem.core import Env, Info
from gem.errors import VectorError
from gem.vector import VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem_processes.auto_mode.auto import AutoVectorEnv
from gem_processes.auto_mode.mode_choice import ModeChoice

MODES = [SyncVectorEnv, ThreadVectorEnv, partial(AutoVectorEnv, choice=ModeChoice("sync", ""))]


class Counter(Env[int, int]):
    """Counts its steps; the action is added."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.closed = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, Info]:
        super().reset(seed=seed)
        self.count = self.start
        return self.count, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, Info]:
        self.count += action
        return self.count, 1.0, False, False, {}

    def close(self) -> None:
        self.closed = True


def broken() -> Env[Any, Any]:
    raise RuntimeError("cannot be built")


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads that switch as often as possible show the order of events that a busy machine shows once a day."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def waiting_for(envs: VectorEnv) -> tuple[threading.Event, Any]:
    woken = threading.Event()
    EngineAccess.of(envs).notify(woken.set)

    def take() -> dict[int, Any]:
        assert woken.wait(60), "no notification"
        woken.clear()
        return dict(EngineAccess.of(envs).take_ready())

    return woken, take


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("switching")
def test_no_result_waits_for_ever(mode: Any) -> None:
    """Each result is followed by a notification, however threads and caller interleave."""
    with mode([Counter] * 5, autoreset="disabled") as envs:
        envs.reset()
        _, take = waiting_for(envs)
        left = dict.fromkeys(range(5), 400)
        envs.send(dict.fromkeys(left, 1))
        while left:
            results = take()
            assert set(results) <= set(left)
            again = {}
            for index, (count, *_) in results.items():
                left[index] -= 1
                assert count == 400 - left[index]
                if left[index]:
                    again[index] = 1
                else:
                    del left[index]
            if again:
                envs.send(again)
        assert envs.num_pending == 0
        assert EngineAccess.of(envs).take_ready() == []


@pytest.mark.parametrize("mode", MODES)
def test_a_take_without_need_loses_no_later_notification(mode: Any) -> None:
    """take_ready with nothing pending arranges the next notification as well."""
    with mode([Counter], autoreset="disabled") as envs:
        envs.reset()
        _, take = waiting_for(envs)
        for turn in range(1, 20):
            envs.send({0: 1})
            results: dict[int, Any] = {}
            while not results:
                results = take()
            assert results[0][0] == turn
            assert EngineAccess.of(envs).take_ready() == []


@pytest.mark.parametrize("mode", MODES)
def test_members_are_made_and_replaced_on_demand(mode: Any) -> None:
    """A member begins empty; send_make builds where steps run, closes the old environment, and reports failures."""
    with mode([None, None], autoreset="disabled") as envs:
        first = Counter(10)
        for maker, expected in ((lambda: first, 10), (lambda: Counter(20), 20)):
            envs.send_make(0, maker)
            with pytest.raises(VectorError, match="has not finished"):
                envs.send_make(0, maker)
            ready = envs.recv()
            assert (ready.indices, ready.infos) == ([0], [{}])
            assert envs.reset_at([0])[0] == [expected]
        assert first.closed
        envs.send_make(0, broken)
        assert envs.recv().infos == [{"error": "RuntimeError: cannot be built"}]
        envs.send_reset([1])
        assert "no environment yet" in envs.recv().infos[0]["error"]
        envs.send_make(0, lambda: Counter(30))
        envs.recv()
        assert envs.reset_at([0])[0] == [30]


@pytest.mark.parametrize("mode", MODES)
def test_an_environment_that_exits_ends_only_itself(mode: Any) -> None:
    """SystemExit in step or reset is a fault of the environment, not the end of the program."""

    class Exits(Counter):
        def step(self, action: int) -> tuple[int, float, bool, bool, Info]:
            raise SystemExit(3)

    with mode([Exits, Counter]) as envs:
        envs.reset(seed=1)
        _, rewards, _, truncations, infos = envs.step([1, 1])
        assert list(truncations) == [True, False]
        assert list(rewards) == [0.0, 1.0]
        assert infos[0]["final_info"]["error"] == "SystemExit: 3"
