"""Checking environments in processes of their own, whatever they do to them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gem_testing import CLAUSES, ClauseOutcome, ClauseResult
from gem_testing import pool as pools
from gem_testing.pool import SCORES, SPEED, CheckJob, ClauseFinished, JobFinished, MeasurementFinished, TaskStarted
from gem_testing.targets import packages_of
from gem_testing.worker import _InitialState

# Nearly every test starts two processes. test_check_command.py covers the pool in the quick tier.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the hostile environments fork and send signals"),
]

CLAUSES_HERE = ("contract.construction", "contract.reset", "contract.step", "contract.random_action", "manifest.ids")

CALM = """
import gem

class Calm(gem.Env):
    def __init__(self, fifo: str = "") -> None:
        self.fifo = fifo

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 3
        return "three turns", {}

    def step(self, action):
        self.do_harm()
        self.left -= 1
        return f"{self.left} left", float(self.left == 0), self.left == 0, False, {}

    def do_harm(self):
        pass

    def sample_random_action(self):
        return "go"
"""

HOSTILE = """
import ctypes, os, shutil, signal, sys, threading, time
from hostile.calm import Calm

class Hostile(Calm):
"""


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check puts on sys.path goes with the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with much to do, a process takes its time to say what it died of; speed is no matter."""
    monkeypatch.setattr(pools, "_GRACE", 10.0)
    monkeypatch.setattr(pools, "SPEED_SECONDS", 0.01)


def lay_out(folder: Path, body: str, fifo: str = "", module: str = "") -> Path:
    """Lay out a package with a healthy environment and one that has ``body`` in its class."""
    package = folder / "hostile"
    package.mkdir()
    entry = (
        '\n[[environment]]\nid = "bad:{name}-v0"\nentry_point = "{entry}"\ndescription = "One."\nkwargs = {kwargs}\n'
    )
    manifest = "schema = 1\n" + entry.format(name="Calm", entry="hostile.calm:Calm", kwargs="{}")
    manifest += entry.format(name="Hostile", entry="hostile.mad:Hostile", kwargs=f"{{ fifo = '{fifo}' }}")
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    for name, text in {
        "__init__.py": "",
        "environments.toml": manifest,
        "calm.py": CALM,
        "mad.py": f"{module}\n{HOSTILE}{indented}",
    }.items():
        (package / name).write_text(text, encoding="utf-8")
    project = '[project]\nname = "hostile"\nversion = "1"\n[project.entry-points."gem.envs"]\nbad = "hostile"\n'
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    return folder


def jobs_of(folder: Path, clauses: tuple[str, ...] = CLAUSES_HERE, figures: tuple[str, ...] = ()) -> list[CheckJob]:
    (package,) = packages_of(str(folder))
    return [CheckJob(spec, clauses, figures, package.manifest, package.namespaces) for spec in package.specs]


def check(folder: Path, clauses: tuple[str, ...] = CLAUSES_HERE, timeout: float = 100.0) -> dict[str, ClauseResult]:
    """Check both environments; return the results of the hostile one, after a look at those of the healthy one."""
    found: list[dict[str, ClauseResult]] = [{}, {}]
    for event in pools.check(jobs_of(folder, clauses), processes=2, timeout=timeout):
        if isinstance(event, ClauseFinished):
            assert event.result.clause not in found[event.job], "no clause is reported twice"
            found[event.job][event.result.clause] = event.result
    assert {name: result.outcome for name, result in found[0].items()} == dict.fromkeys(clauses, ClauseOutcome.HOLDS)
    assert found[1].keys() == set(clauses)
    return found[1]


def violated(results: dict[str, ClauseResult]) -> dict[str, str]:
    return {name: result.message for name, result in results.items() if result.outcome is ClauseOutcome.VIOLATED}


def test_a_healthy_environment_holds_and_every_clause_is_announced(tmp_path: Path) -> None:
    """TaskStarted comes before each result, measurements come after the clauses, and JobFinished last."""
    lay_out(tmp_path, "pass")
    events = list(pools.check(jobs_of(tmp_path, figures=(SCORES, SPEED)), processes=1, timeout=100))
    for number in (0, 1):
        mine = [event for event in events if event.job == number]
        assert [event.result.clause for event in mine if isinstance(event, ClauseFinished)] == list(CLAUSES_HERE)
        announced = [event.what for event in mine if isinstance(event, TaskStarted)]
        begun = [*CLAUSES_HERE[:2], "first episode", *CLAUSES_HERE[2:]]
        assert announced == ["import", *begun, SCORES, SPEED]
        scores, speed = (event.value for event in mine if isinstance(event, MeasurementFinished))
        assert scores is not None
        assert speed is not None
        assert scores["random"]["mean"] == 1.0
        assert speed["relative_steps"] > 0
        assert mine[-1] == JobFinished(number)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        ("os._exit(0)", "the process died with exit code 0 in this clause"),
        ("sys.exit(3)", "raised SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt() was raised in this clause"),
        ("ctypes.string_at(0)", "the process was killed by SIGSEGV in this clause, in do_harm at hostile/mad.py:"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the system does that when memory runs out"),
        ("os.closerange(3, os.sysconf('SC_OPEN_MAX'))", "lost its connection to the check in this clause"),
        pytest.param("os._exit(3)", "the process died with exit code 3 in this clause", marks=pytest.mark.nightly),
        pytest.param("os.abort()", "was killed by SIGABRT in this clause, in do_harm at", marks=pytest.mark.nightly),
        pytest.param("raise MemoryError", "MemoryError", marks=pytest.mark.nightly),
    ],
)
def test_a_process_that_dies_costs_the_clauses_that_it_died_in(tmp_path: Path, harm: str, sentence: str) -> None:
    """Clauses that take a step are violated, each with what happened; all others hold."""
    results = check(lay_out(tmp_path, f"def do_harm(self):\n    {harm}"))
    assert set(violated(results)) >= {"contract.step"}
    assert results["contract.construction"].outcome is results["manifest.ids"].outcome is ClauseOutcome.HOLDS
    assert sentence in results["contract.step"].message


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "harm",
    [
        "print('x' * (1 << 24)); os.write(1, b'y' * (1 << 24)); os.write(2, b'z' * (1 << 24))",
        "os.closerange(0, 256)",
        "[os.write(n, b'{\"garbage\\n[') for n in range(1024) if n != 0 and os.path.exists(f'/proc/self/fd/{n}')]",
        "shutil.rmtree(os.environ['TMPDIR'] + '/../work', ignore_errors=True)",
        "os.chdir('/')",
        "sys.stdin and sys.stdin.read(); sys.stdin = sys.stdout = sys.stderr = None",
        "vars(sys).setdefault('forked', []) or sys.forked.append(os.fork())",
        "os.fork() or time.sleep(1000)",
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        "import atexit; atexit.register(time.sleep, 1000)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "sys.path.clear(); os.environ.clear()",
    ],
)
def test_nothing_else_reaches_the_results(tmp_path: Path, harm: str) -> None:
    """Output, closed descriptors, garbage, a folder that is gone, forks and threads disturb no clause's result."""
    if "/proc" in harm and not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    assert not violated(check(lay_out(tmp_path, f"def do_harm(self):\n    {harm}")))


@pytest.mark.slow(reason="waits for a time limit in which a busy machine can start a process")
def test_an_environment_that_hangs_is_given_up(tmp_path: Path) -> None:
    """A clause that does not finish in time is violated, with the place in the environment's code."""
    harm = "def do_harm(self):\n    time.sleep(1000)"
    results = check(lay_out(tmp_path, harm), ("contract.step", "manifest.ids"), timeout=12)
    assert list(violated(results)) == ["contract.step"]
    message = results["contract.step"].message
    assert message.startswith("the process did not finish within 12 s in this clause, in do_harm at hostile/mad.py:")


@pytest.mark.nightly
def test_an_environment_that_always_hangs_costs_little(tmp_path: Path) -> None:
    """Where not even reset returns, the clauses that play are not tested, and the others are."""
    clauses = (*CLAUSES_HERE, "contract.reward", "manifest.schema")
    results = check(lay_out(tmp_path, "def reset(self, **_):\n    time.sleep(1000)"), clauses, timeout=12)
    assert set(violated(results)) == {"contract.reset"}
    assert results["contract.step"].outcome is results["contract.reward"].outcome is ClauseOutcome.NOT_TESTED
    assert "no episode can begin: the process did not finish within 12 s" in results["contract.reward"].message
    assert results["contract.reward"].advice == "see contract.construction and contract.reset"
    assert results["manifest.schema"].outcome is ClauseOutcome.HOLDS


@pytest.mark.nightly
def test_after_some_clauses_that_hang_the_others_are_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that hangs in clause after clause does not hold up the check for hours."""
    monkeypatch.setattr(pools, "HANGS", 1)
    clauses = ("contract.step", "contract.reward", "contract.ends")
    results = check(lay_out(tmp_path, "def do_harm(self):\n    time.sleep(1000)"), clauses, timeout=12)
    assert list(violated(results)) == ["contract.step"]
    assert results["contract.ends"].message == "it hung 1 times"


@pytest.mark.parametrize(
    ("module", "what"),
    [
        ("import os\nos._exit(4)", "died with exit code 4"),
        pytest.param(
            "import time\ntime.sleep(1000)", "did not finish within 12 s", marks=pytest.mark.nightly, id="hangs"
        ),
    ],
)
def test_death_while_importing_says_so(tmp_path: Path, module: str, what: str) -> None:
    """contract.construction is violated, clauses that play are not tested, and those that do not play are tried."""
    results = check(lay_out(tmp_path, "pass", module=module), timeout=12)
    message = results["contract.construction"].message
    assert results["contract.construction"].outcome is ClauseOutcome.VIOLATED
    assert message.startswith(f"the process {what} ")
    assert results["contract.step"].outcome is ClauseOutcome.NOT_TESTED
    assert results["manifest.ids"].outcome is ClauseOutcome.HOLDS


def test_a_constructor_that_kills_is_contract_construction(tmp_path: Path) -> None:
    """What no longer can be tested is not tested rather than violated again and again."""
    results = check(lay_out(tmp_path, "def __init__(self, fifo=''):\n    os._exit(5)"))
    assert list(violated(results)) == ["contract.construction", "contract.reset"]
    assert "died with exit code 5 while the first episode began" in results["contract.step"].message


def test_figures_that_kill_are_missing_with_the_reason(tmp_path: Path) -> None:
    """An environment that dies while it is scored keeps the results of its clauses."""
    lay_out(tmp_path, "def do_harm(self):\n    os._exit(6)")
    jobs = jobs_of(tmp_path, ("contract.construction",), (SCORES, SPEED))
    events = [event for event in pools.check(jobs, processes=2, timeout=100) if event.job == 1]
    figures = {event.kind: event for event in events if isinstance(event, MeasurementFinished)}
    assert figures[SCORES].value is None
    assert figures[SPEED].value is None
    assert "died with exit code 6 when its scores should be measured" in figures[SCORES].error


def test_exempt_clauses_stay_exempt_when_a_process_dies(tmp_path: Path) -> None:
    """What the manifest excuses is never violated."""
    lay_out(tmp_path, "pass", module="import os\nos._exit(4)")
    manifest = tmp_path / "hostile" / "environments.toml"
    with manifest.open("a", encoding="utf-8") as file:
        file.write('exempt = { "contract.step" = "it knows why" }\n')
    results = check(tmp_path)
    step = results["contract.step"]
    assert (step.outcome, step.exempt, step.message) == (ClauseOutcome.NOT_TESTED, True, "it knows why")


def test_a_process_that_cannot_start_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not even the worker starts, one clause is violated with what the process said, the others not tested."""
    lay_out(tmp_path, "pass")
    jobs = jobs_of(tmp_path)[:1]
    monkeypatch.setattr(pools, "_BOOT", "raise SystemExit('no such luck')")
    results = [event.result for event in pools.check(jobs, 1, 100) if isinstance(event, ClauseFinished)]
    assert [result.outcome for result in results] == [ClauseOutcome.VIOLATED] + [ClauseOutcome.NOT_TESTED] * 4
    assert results[0].message == "the process of the check died with exit code 1 before it began: no such luck"


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A FIFO that the processes of an environment hold open for writing, and our end of it."""
    path = tmp_path / "alive"
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(end, True)
    yield str(path), end
    os.close(end)


HOLD = "self.held = os.open(self.fifo, os.O_WRONLY); os.write(self.held, b'here ')"


def wait_until_all_are_gone(end: int) -> None:
    """Read to the end of the FIFO, which comes when nobody has it open any more."""
    os.set_blocking(end, False)
    some = b"some"
    while some:
        try:
            some = os.read(end, 1 << 16)
        except BlockingIOError:
            assert select.select([end], [], [], 60)[0], "somebody still has it open"


def test_children_of_an_environment_end_with_its_process(tmp_path: Path, alive: tuple[str, int]) -> None:
    """What an environment forks and forgets is ended, also where it is a child's child."""
    fifo, end = alive
    harm = f"def do_harm(self):\n    if os.fork() == 0:\n        {HOLD}; os.fork(); time.sleep(1000)"
    assert not violated(check(lay_out(tmp_path, harm, fifo)))
    wait_until_all_are_gone(end)


def test_a_daemon_that_escapes_holds_up_nobody(
    tmp_path: Path, alive: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grandchild in a session of its own, which keeps every descriptor open, costs no result and no time."""
    fifo, end = alive
    monkeypatch.setattr(pools, "_GRACE", 0.5)  # no pipe is at its end before the daemon, so all of it is waited for
    harm = """
def do_harm(self):
    ready, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.write(os.open(self.fifo, os.O_WRONLY), b"%d " % os.getpid())
        os.write(told, b".")
        time.sleep(1000)
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
"""
    assert not violated(check(lay_out(tmp_path, harm, fifo)))
    for daemon in os.read(end, 1 << 16).split():
        os.kill(int(daemon), signal.SIGKILL)
    wait_until_all_are_gone(end)


@pytest.mark.parametrize("how", ["close", "interrupt"])
def test_breaking_off_leaves_no_process(tmp_path: Path, alive: tuple[str, int], how: str) -> None:
    """When the caller stops listening, or Ctrl-C comes, processes and their children end."""
    fifo, end = alive
    harm = f"def do_harm(self):\n    {HOLD}\n    os.fork(); time.sleep(1000)"
    events = pools.check(jobs_of(lay_out(tmp_path, harm, fifo)), processes=2, timeout=100)
    for event in events:
        if isinstance(event, TaskStarted) and event.job == 1 and event.what == "contract.reset":
            break
    # A FIFO that nobody has opened yet reads as one that everybody has closed.
    assert select.select([end], [], [], 60)[0]
    assert os.read(end, 4) == b"here"
    if how == "close":
        events.close()  # type: ignore[attr-defined]  # a generator
    else:
        with pytest.raises(KeyboardInterrupt):
            events.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    wait_until_all_are_gone(end)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_process_that_is_starting(
    tmp_path: Path, alive: tuple[str, int], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """A process that has begun when Ctrl-C comes, and of which the check does not know yet, ends with the others."""
    fifo, end = alive

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            assert select.select([end], [], [], 60)[0]
            signal.raise_signal(number)

    module = f"import os, time\nos.write(os.open({fifo!r}, os.O_WRONLY), b'here ')\ntime.sleep(1000)"
    folder = lay_out(tmp_path, "pass", fifo, module=module)
    (job,) = (job for job in jobs_of(folder) if "Hostile" in job.spec.id)
    monkeypatch.setattr(pools.subprocess, "Popen", Popen)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(pools.check([job], processes=1, timeout=100))
    finally:
        signal.signal(number, before)
    wait_until_all_are_gone(end)


def test_the_environment_is_alone_in_an_empty_folder_that_goes_away(tmp_path: Path) -> None:
    """The working directory and the folder for temporary files are empty at first and gone afterwards."""
    body = """
def do_harm(self):
    import tempfile
    from pathlib import Path
    assert os.listdir(os.getcwd()) == [] and os.listdir(tempfile.gettempdir()) == []
    Path(self.fifo).write_text(os.getcwd() + " " + tempfile.gettempdir())
"""
    note = tmp_path / "note"
    assert not violated(check(lay_out(tmp_path, body, str(note)), ("contract.step",)))
    working, temporary = map(Path, note.read_text().split())
    assert not working.exists()
    assert not temporary.exists()


def test_every_clause_of_the_kit_runs_in_a_worker(tmp_path: Path) -> None:
    """All clauses of the kit come back from a worker, in reading order."""
    lay_out(tmp_path, "pass")
    events = pools.check(jobs_of(tmp_path, tuple(CLAUSES))[:1], processes=1, timeout=100)
    assert [event.result.clause for event in events if isinstance(event, ClauseFinished)] == list(CLAUSES)


def test_what_a_clause_did_to_the_process_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each clause the working directory, sys.path and the environment variables are what they were."""
    monkeypatch.chdir(tmp_path)
    path, variables, folder = list(sys.path), dict(os.environ), tmp_path / "gone"
    initial_state = _InitialState(str(folder))
    try:
        sys.path.clear()
        os.environ["LEFT_BEHIND"] = "1"
        initial_state.restore()
        assert (sys.path, dict(os.environ), Path.cwd()) == (path, variables, folder)
    finally:
        sys.path[:] = path
        os.environ.pop("LEFT_BEHIND", None)
