"""Process mode: the results of sync mode, whatever happens to the workers."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from gem.errors import ArgumentError, LostEnvironmentError, NotSupportedError, VectorError
from gem.vector.engine_access import EngineAccess
from gem.vector.sync import SyncVectorEnv
from gem_processes.process_mode.call_page import CallPage
from gem_processes.process_mode.timed_group import INTERRUPT, TimedGroup
from gem_processes.process_mode.vector_env import ProcessVectorEnv
from gem_rollout.faults import policy_fault

_found = spec_from_file_location("hostile_envs", Path(__file__).with_name("hostile_envs.py"))
assert _found is not None
assert _found.loader is not None
envs_module: Any = module_from_spec(_found)
sys.modules["hostile_envs"] = envs_module
_found.loader.exec_module(envs_module)
Walk = envs_module.Walk

SCRIPT = ["a", "raise", "b", "c", "surrogate", "text", "bytes", "parts", "system exit", "raise", "d", "large", "e", "f"]


def plain(result: Any) -> Any:
    """Return a result of step or reset without arrays."""
    return [part.tolist() if hasattr(part, "tolist") else part for part in result]


def alive(process: int) -> bool:
    """Return whether a process runs; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, at most a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_process_mode_gives_the_results_of_sync_mode(autoreset: str) -> None:
    """Episodes, seeds, faults and observations of every kind, in lock-step and by send and recv."""
    makers = [partial(Walk, turns) for turns in (2, 5, 9)]
    settings: Any = {"autoreset": autoreset, "seeds": [4, 5, None]}
    with SyncVectorEnv(makers, **settings) as sync, ProcessVectorEnv(makers, **settings, num_workers=2) as process:
        # The third environment has no seed at first, so only the infos of the others are the same everywhere.
        assert [plain(part)[:2] for part in process.reset()] == [plain(part)[:2] for part in sync.reset()]
        assert process.reset(seed=[1, 2, 3]) == sync.reset(seed=[1, 2, 3])
        for action in SCRIPT:
            expected, found = [], []
            for envs, results in ((sync, expected), (process, found)):
                if autoreset == "disabled":
                    over = dict.fromkeys(sorted(envs._over))
                    results.append(envs.reset_at(over) if over else None)
                results.append(plain(envs.step([action] * 3)))
            assert found == expected
            assert repr(found) == repr(expected)
            if expected[-1][0]:
                assert [type(o) for o in found[-1][0]] == [type(o) for o in expected[-1][0]]
        if autoreset == "same_step":
            for envs in (sync, process):
                envs.send({2: "x"})
                envs.send({0: "y"})
                envs.send_reset({1: 77})
            results = {}
            for envs in (sync, process):
                ready = envs.recv(min_ready=3)
                results[envs] = sorted(
                    zip(ready.indices, ready.observations, ready.infos, strict=True), key=lambda r: r[0]
                )
            assert results[sync] == results[process]
        assert [env.get_state() for env in process.envs] == [env.get_state() for env in sync.envs]


@pytest.mark.parametrize("deed", ["exit", "kill", "segfault"])
def test_a_worker_that_dies_costs_its_running_episodes_alone(deed: str) -> None:
    """They are truncated with the cause; the worker is replaced, and the other worker's environments never notice."""
    words = {"exit": "exited with status 7", "kill": "was killed by SIGKILL", "segfault": "was killed by SIGSEGV"}[deed]
    with ProcessVectorEnv([Walk] * 4, num_workers=2) as envs, SyncVectorEnv([Walk] * 4) as sync:
        envs.reset(seed=1)
        sync.reset(seed=1)
        before = envs.step(["a"] * 4)[0]
        sync.step(["a"] * 4)
        first = envs.worker_pids
        observations, rewards, terminations, truncations, infos = envs.step([deed, "b", "b", "b"])
        expected = sync.step(["raise", "raise", "b", "b"])
        assert (observations[2:], infos[2:]) == (expected[0][2:], expected[4][2:])
        assert (rewards[:2].tolist(), terminations.tolist()) == ([0.0, 0.0], [False] * 4)
        assert truncations.tolist() == [True, True, False, False]
        assert infos[0]["error"] == f"ProcessCrashError: its process {words}"
        assert infos[1]["error"] == (
            f"NeighbourCrashError: its process {words} during a call of environment 0, which shares it"
        )
        for index in range(2):
            assert infos[index]["final_observation"] == before[index]
            assert infos[index]["final_info"] == {"error": infos[index]["error"], "seed": 1 + index}
            # The next episode is the one that follows a fault of the environment in any mode.
            assert observations[index] == expected[0][index]
            assert infos[index]["seed"] == expected[4][index]["seed"]
        assert plain(envs.step(["c"] * 4)) == plain(sync.step(["c"] * 4))
        assert envs.worker_pids[0] not in first or envs.worker_pids[1] not in first
        assert not any(alive(process) for process in set(first) - set(envs.worker_pids))
        assert envs.num_workers == 2
        # The same environment once more: from now on it has a process of its own.
        envs.step([deed, "b", "b", "b"])
        assert envs.num_workers == 3
        truncations = envs.step([deed, "b", "b", "b"])[3]
        assert truncations.tolist() == [True, False, False, False]


@pytest.mark.parametrize("autoreset", ["next_step", "disabled"])
def test_episodes_lost_between_two_steps_are_reported_once(autoreset: str) -> None:
    """A worker killed while nothing is pending: the next step says so, and the one after begins anew."""
    with ProcessVectorEnv([Walk, partial(Walk, 1)], autoreset=autoreset, num_workers=1) as envs:
        envs.reset(seed=1)
        envs.step(["a", "a"])  # the second environment's episode is over
        os.kill(envs.worker_pids[0], signal.SIGKILL)
        last = {0: "b"} if autoreset == "disabled" else {0: "b", 1: "b"}
        _, _, _, truncations, infos = envs.step(last)
        assert truncations.tolist() == [True, False][: len(last)]
        assert infos[0]["error"] == "ProcessCrashError: its process was killed by SIGKILL"
        if autoreset == "disabled":
            observations, infos = envs.reset_at([0, 1])
        else:
            observations, _, _, truncations, infos = envs.step(["c", "c"])
            assert truncations.tolist() == [False, False]
        assert "error" not in infos[0]
        assert observations[0].startswith("begin")


@pytest.mark.parametrize("lost", ["worker", "fork server"])
def test_an_event_loop_hears_of_a_process_that_ended_while_nothing_was_pending(lost: str) -> None:
    """The next step gets its result all the same: the news came when the caller waited for nobody."""
    with ProcessVectorEnv([Walk] * 2, num_workers=1) as envs:
        envs.reset(seed=1)
        first = envs.worker_pids[0]
        access, woken = EngineAccess.of(envs), threading.Event()
        access.notify(woken.set)
        server = int(Path(f"/proc/{first}/stat").read_text().split()[3])
        os.kill(first if lost == "worker" else server, signal.SIGKILL)

        def news() -> list[Any]:
            assert woken.wait(60), "no notification"
            woken.clear()
            return access.take_ready()

        while alive(first) or woken.is_set():
            assert news() == []
        envs.send({0: "a"})
        while not (ready := news()):
            pass
        ((index, (_, reward, terminated, truncated, info)),) = ready
        assert (index, reward, terminated, truncated) == (0, 0.0, False, True)
        assert info["error"].startswith("ProcessCrashError: its process ")
        assert envs.worker_pids[0] != first


def test_resets_that_a_death_interrupts_begin_anew() -> None:
    """Those of the neighbours bring the episodes of their seeds; only that of the killer fails."""
    with ProcessVectorEnv([Walk] * 3, num_workers=1) as envs, SyncVectorEnv([Walk] * 3) as sync:
        expected, _ = sync.reset(seed=[7, 8, 9])
        envs.reset(seed=1)
        observations, infos = envs.reset(seed=[7, 8, 9], env1_kwargs={"options": {"deed": "kill"}})
        assert (observations[0], observations[2]) == (expected[0], expected[2])
        assert (observations[1], infos[1]) == ("", {"error": "ProcessCrashError: its process was killed by SIGKILL"})
        with pytest.raises(ArgumentError, match="no such option"):
            envs.reset(options={"size": 3})
        assert envs.reset(seed=7)[0] == expected


@pytest.mark.slow(reason="a call that cannot be interrupted has two seconds before its worker is killed")
def test_a_call_that_hangs_is_ended() -> None:
    """Python code is interrupted, and the neighbours never notice; what resists ends with its worker."""
    with ProcessVectorEnv([Walk] * 3, step_timeout=0.5, num_workers=1) as envs, SyncVectorEnv([Walk] * 3) as sync:
        envs.reset(seed=1)
        sync.reset(seed=1)
        process = envs.worker_pids
        for deed in ("loop", "sleep"):
            found, expected = envs.step(["a", deed, "a"]), sync.step(["a", "raise", "a"])
            assert found[3].tolist() == [False, True, False]
            assert found[4][1]["error"] == "TimeoutError: no return from step within 0.5 s"
            assert found[0] == expected[0]
            assert (found[4][0], found[4][2]) == (expected[4][0], expected[4][2])
            assert found[4][1]["seed"] == expected[4][1]["seed"]
        assert envs.worker_pids == process
        _, _, _, truncations, infos = envs.step(["a", "stubborn", "a"])
        assert truncations.tolist() == [True] * 3
        assert infos[1]["error"] == "TimeoutError: no return from step within 0.5 s"
        assert infos[0]["error"].startswith("NeighbourCrashError: its process was ended because environment 1")
        assert envs.worker_pids != process
        assert eventually(lambda: not alive(process[0]))
        envs.send_reset([0], options={"deed": "loop"})
        assert envs.recv().infos == [{"error": "TimeoutError: no return from reset within 0.5 s"}]


def test_a_call_that_was_late_is_a_fault_although_nothing_has_interrupted_it() -> None:
    """The trainer looks at time limits only while it waits for results."""
    before, page = signal.getsignal(INTERRUPT), CallPage()
    try:
        group = TimedGroup("disabled", lambda number: None, page, 60.0)
        group.add(0, Walk)
        group.reset([0], [{"seed": 1}])
        group._seconds = 0.005
        ((_, _, _, truncated, info),) = group.step([0], ["nap"])
        assert (truncated, info["error"]) == (True, "TimeoutError: no return from step within 0.005 s")
    finally:
        signal.signal(INTERRUPT, before)
        page.close()


def test_results_that_cannot_be_sent_are_faults_of_their_environment() -> None:
    """Whether they cannot be packed in the worker or unpacked here; the neighbours have their results."""
    with ProcessVectorEnv([Walk] * 3, num_workers=1) as envs:
        envs.reset(seed=1)
        for deed, words in (("lock", "cannot be sent"), ("only in workers", "cannot be read")):
            observations, _, _, truncations, infos = envs.step(["a", deed, "text"])
            assert truncations.tolist() == [False, True, False]
            assert words in infos[1]["error"]
            assert infos[1]["error"].startswith("InvalidResultError")
            assert observations[1].startswith("begin")
            assert type(observations[2]) is envs_module.Text
        # An action that cannot be sent is one that no environment understands.
        assert envs.step(["a", threading.Lock(), "a"])[0][1].startswith("UnsendableAction(")


def test_stand_ins_reach_the_environments() -> None:
    """Methods, attributes and generators, from any thread while results are pending."""
    with ProcessVectorEnv([Walk] * 2, num_workers=1) as envs:
        envs.reset(seed=3)
        first, second = envs.envs
        second.set_state(first.get_state())
        assert second.get_state() == first.get_state()
        assert first.sample_random_action() == second.sample_random_action()
        first.action_rng.seed("other")
        assert first.sample_random_action() != second.sample_random_action()
        stand_in: Any = first
        assert (stand_in.turns, stand_in.add(1, two=2)) == (5, 3)
        assert first.unwrapped is first
        with pytest.raises(AttributeError):
            _ = stand_in.nothing
        with pytest.raises(NotSupportedError, match="reset_at"):
            first.reset()
        asked: list[Any] = []
        threads = [threading.Thread(target=lambda: asked.append(stand_in.add(20, 3))) for _ in range(4)]
        for turn in range(20):
            envs.send(["a", "a"])
            if turn == 5:
                for thread in threads:
                    thread.start()
            assert sorted(envs.recv(min_ready=2).indices) == [0, 1]
        for thread in threads:
            thread.join()
        assert asked == [23] * 4
        os.kill(envs.worker_pids[0], signal.SIGKILL)
        with pytest.raises(LostEnvironmentError, match="has ended") as raised:
            stand_in.add(1, 2)
        # To the rollout engine this is no fault of an agent that has asked.
        fault = policy_fault(raised.value)
        assert (fault.source, fault.kind) == ("environment", "lost")


@pytest.mark.slow(reason="eleven hundred messages, one after the other")
def test_quick_steps_that_are_sent_one_by_one_never_end_the_worker() -> None:
    """What a worker sends at once grows with the speed of steps, and has a limit however long that goes on."""
    with ProcessVectorEnv([partial(Walk, 10**6)] * 2, num_workers=1) as envs:
        envs.reset(seed=1)
        process = envs.worker_pids
        for turn in range(1100):
            envs.send({turn % 2: "a"})
            assert envs.recv().infos[0] == {"turn": 1 + turn // 2}
        assert envs.worker_pids == process


def test_results_of_slow_steps_come_one_by_one(tmp_path: Path) -> None:
    """Also after quick steps, whose results come together: the first is here before the second step ends."""
    there, awaited = tmp_path / "there", tmp_path / "awaited"
    there.touch()
    with ProcessVectorEnv([partial(Walk, 10**6)] * 2, num_workers=1) as envs:
        envs.reset(seed=1)
        for action in [*["a"] * 20, *["nap"] * 2]:
            envs.send([action] * 2)
            envs.recv(min_ready=2)
        envs.send([there, awaited])
        try:
            assert envs.recv(timeout=60).indices == [0]
        finally:
            awaited.touch()
        assert envs.recv().indices == [1]


def test_what_fails_while_environments_are_built_is_raised() -> None:
    """The exception of the maker itself, or how the process died; nothing stays behind."""
    with pytest.raises(KeyError, match="on fire"):
        ProcessVectorEnv([Walk, partial(Walk, born="raise")], num_workers=2)
    with pytest.raises(VectorError, match=r"environments 1 to 1 exited with status 7, in environment 1"):
        ProcessVectorEnv([Walk, partial(Walk, born="exit")], num_workers=2)


def test_makers_that_cannot_be_sent_are_refused_with_the_remedy() -> None:
    """Before any process starts."""
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match="cannot be made in another process: TypeError: cannot pickle"):
        ProcessVectorEnv([partial(Walk, lock)])


def test_closing_reports_environments_that_did_not_close() -> None:
    """All processes end; a second close does nothing."""
    envs = ProcessVectorEnv([envs_module.CannotClose, Walk], num_workers=2)
    processes = envs.worker_pids
    envs.reset()
    with pytest.raises(VectorError, match="1 environments could not be closed; the first: OSError: stuck"):
        envs.close()
    envs.close()
    assert not any(alive(process) for process in processes)


def test_no_process_outlives_a_forgotten_vector_environment() -> None:
    """The garbage collector ends them, without a call of close."""
    envs = ProcessVectorEnv([Walk])
    processes = envs.worker_pids
    assert all(alive(process) for process in processes)
    del envs
    gc.collect()
    assert eventually(lambda: not any(alive(process) for process in processes))


SCRIPT_WITHOUT_GUARD = """
import sys, threading
import gem

class Mine(gem.Env):
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return f"mine {self.rng.random()}", {}

    def step(self, action):
        return action, 1.0, False, False, {}

threading.Thread(target=threading.Event().wait, daemon=True).start()  # a trainer with threads
gem.register("mine", Mine)
print("once")
envs = gem.make_vec("mine", num_envs=3, mode="process", seed=1)
print(envs.reset()[0] == gem.make_vec("mine", num_envs=3, seed=1).reset()[0])
print(*envs.worker_pids, flush=True)
sys.stdin.read()
"""


def trainer(folder: Path, *, cloudpickle: bool) -> subprocess.Popen[str]:
    """Start the script above."""
    script = folder / "train it.py"
    script.write_text(SCRIPT_WITHOUT_GUARD)
    if not cloudpickle:
        (folder / "cloudpickle.py").write_text("raise ImportError('not installed')")
    return subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_script_without_a_guard_works_and_leaves_nothing_when_it_is_killed(tmp_path: Path) -> None:
    """It runs once, its own classes go along, and after SIGKILL no process and no shared memory is left."""
    memory = set(os.listdir("/dev/shm"))  # noqa: PTH208
    with trainer(tmp_path, cloudpickle=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "once\n"
            assert process.stdout.readline() == "True\n"
            workers = [int(word) for word in process.stdout.readline().split()]
            assert workers
            server = int(Path(f"/proc/{workers[0]}/stat").read_text().rpartition(")")[2].split()[1])
            assert all(alive(one) for one in (server, *workers))
        finally:
            process.kill()
        assert eventually(lambda: not any(alive(one) for one in (server, *workers)))
    assert set(os.listdir("/dev/shm")) <= memory  # noqa: PTH208


def test_without_cloudpickle_a_class_of_the_script_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """The error names the class and what to do."""
    with trainer(tmp_path, cloudpickle=False) as process:
        _, errors = process.communicate("")
    assert "ArgumentError" in errors
    assert "Mine is defined in the script" in errors
    assert "install cloudpickle" in errors


def test_a_module_that_starts_threads_is_not_imported_before_the_fork(tmp_path: Path, monkeypatch: Any) -> None:
    """Only a process with one thread can be forked safely; the workers import such a module themselves."""
    (tmp_path / "threaded_envs.py").write_text(
        "import os, threading\nfrom hostile_envs import Walk\nimported_in = os.getpid()\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "class Threaded(Walk):\n    imported_in = imported_in\n"
    )
    (tmp_path / "hostile_envs.py").write_text(Path(__file__).with_name("hostile_envs.py").read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    import threaded_envs  # type: ignore[import-not-found]

    with ProcessVectorEnv([threaded_envs.Threaded], num_workers=1) as envs:
        stand_in: Any = envs.envs[0]
        assert [stand_in.imported_in] == envs.worker_pids
        envs.reset()
        assert envs.step(["a"])[1].tolist() != []
    del sys.modules["threaded_envs"]


def test_a_forked_copy_of_the_trainer_harms_nothing() -> None:
    """Its end, and its garbage collection, leave the workers alone."""
    with ProcessVectorEnv([Walk], num_workers=1) as envs:
        envs.reset(seed=1)
        child = subprocess.run([sys.executable, "-c", ""], check=True)  # a fork and exec first
        assert child.returncode == 0
        process = os.fork()
        if not process:
            try:
                envs.__dict__.clear()
                gc.collect()
            finally:
                os._exit(0)
        os.waitpid(process, 0)
        assert envs.step(["a"])[0][0].startswith("a ")


@pytest.mark.parametrize("lost", ["unreadable", "unsendable"])
def test_a_text_that_grows_is_whole_after_a_result_that_was_lost(lost: str) -> None:
    """What was added is joined to a text that has arrived, and never to the one before it."""
    with ProcessVectorEnv([envs_module.Growing], num_workers=1) as envs:
        (observation,), _ = envs.reset(seed=0)
        lengths = [len(observation)]
        for action in ("a", "b", lost, "c", "d", lost, "e"):
            (observation,), *_ = envs.step([action])
            if set(observation) == {"y"}:
                lengths.append(len(observation))
        assert lengths == sorted(lengths)
        assert len(lengths) >= 6
        assert all((length - lengths[0]) % 300 == 0 for length in lengths)
        assert lengths[-1] - lengths[0] >= 300 * 7  # the lost texts grew, too
