"""What a person sees while an image is made ready: on a real terminal, in processes of their own."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Event, Thread

import pytest

from gem_terminal.engines.base import ProgressStage
from gem_terminal.engines.exclusive import exclusive
from gem_terminal.episodes import progress
from gem_terminal.episodes.progress import showing

BEGINNING = """
import sys, time
from gem_terminal.episodes import progress
from gem_terminal.engines.base import ProgressStage
from gem_terminal.episodes.progress import showing
progress._PATIENCE = {patience}
"""
PATIENT_FOR = 120
"""Seconds after which a test gives up."""


class Seen:
    """A program whose standard error is a terminal, and what came to that terminal."""

    def __init__(self, program: str, patience: float = 0.0) -> None:
        self.terminal, theirs = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGINNING.format(patience=patience) + textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
            text=True,
        )
        os.close(theirs)

    def until(self, *wanted: str) -> str:
        """Wait for texts; AssertionError if the terminal is closed before, or nothing comes."""
        while not all(text in self.text for text in wanted):
            ready, _, _ = select.select([self.terminal], [], [], PATIENT_FOR)
            assert ready, self.text
            try:
                data = os.read(self.terminal, 1 << 16)
            except OSError:
                data = b""
            assert data, self.text
            self.text += data.decode(errors="replace")
        return self.text

    def go_on(self) -> None:
        """Let the program pass its next ``input()``."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ended(self) -> str:
        """Return everything that came to the terminal, once the program has ended well."""
        while select.select([self.terminal], [], [], PATIENT_FOR)[0]:
            try:
                self.text += os.read(self.terminal, 1 << 16).decode(errors="replace")
            except OSError:  # nobody has the other end any more
                break
        out, _ = self.process.communicate(timeout=PATIENT_FOR)
        os.close(self.terminal)
        assert self.process.returncode == 0, f"{out}\n{self.text}"  # as a text, which pytest shows whole
        return self.text


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_a_step_of_so_many_is_shown_and_removed() -> None:
    """The title, the step and what it does are on the terminal while it goes on, and gone afterwards."""
    seen = Seen("""
        with showing("image of ledger") as tell:
            tell(ProgressStage("RUN make everything", 2, 7))
            input()
        print("after", file=sys.stderr)
    """)
    seen.until("image of ledger", "2 of 7", "RUN make everything")
    seen.go_on()
    assert seen.ended().endswith("\r\x1b[2K\x1b[?25h\rafter\r\n")  # the line was erased


def test_bytes_are_shown_as_megabytes() -> None:
    """A download is told in bytes, and shown as people read it."""
    seen = Seen("""
        with showing("image of ledger") as tell:
            tell(ProgressStage("fetching", 1_500_000, 30_000_000))
            input()
    """)
    seen.until("1.5 of 30.0 MB")
    seen.go_on()
    seen.ended()


def test_what_is_quick_says_nothing() -> None:
    """Nothing is written before the time is up, however many stages there were; the time is two seconds."""
    assert progress._PATIENCE == 2.0
    seen = Seen(
        """
        from threading import Timer, enumerate as running
        with showing("image of ledger") as tell:
            for step in range(100):
                tell(ProgressStage("RUN true", step, 100))
            assert [thread.interval for thread in running() if isinstance(thread, Timer)] == [progress._PATIENCE]
        """,
        patience=PATIENT_FOR,
    )
    assert seen.ended() == ""


def test_without_a_terminal_nothing_is_written(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error that is a file, closed, or not there at all stays as it is."""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for stream in (sys.stderr, None):
        monkeypatch.setattr(sys, "stderr", stream)
        with showing("image of ledger") as tell:
            tell(ProgressStage("RUN true", 1, 2))
    assert capfd.readouterr() == ("", "")


def test_what_a_build_prints_cannot_command_the_terminal() -> None:
    """Escape sequences and markup are shown as text."""
    seen = Seen(r"""
        with showing("image of ledger") as tell:
            tell(ProgressStage("[red]a\x1b]0;owned\x07b\x1b[2Jc[/red]", 1, 2))
            input()
    """)
    seen.until("[red]a", "c[/red]")
    seen.go_on()
    assert "\x1b]0;owned" not in seen.ended()
    assert "\x1b[2J" not in seen.text


def test_threads_share_one_display() -> None:
    """Two builds are two lines; a thread that only waits is worth one while there is no other."""
    seen = Seen("""
        from contextlib import ExitStack
        with ExitStack() as lines:
            first, second, third = [lines.enter_context(showing(f"image {n}")) for n in "ABC"]
            first(ProgressStage("waiting for another"))
            input()
            second(ProgressStage("RUN make b", 1, 2))
            third(ProgressStage("RUN make c", 2, 3))
            input()
    """)
    seen.until("image A", "waiting for another")
    seen.go_on()
    seen.until("image B", "1 of 2", "image C", "2 of 3")
    seen.text = ""  # what comes now is drawn anew
    assert "image A" not in seen.until("image B", "image C")
    seen.go_on()
    seen.ended()


def test_many_threads_at_once_do_no_harm() -> None:
    """Stages and ends from many threads leave nothing behind and raise nothing."""
    seen = Seen("""
        from threading import Thread
        failures = []
        def build(number):
            try:
                for _ in range(5):
                    with showing(f"image {number}") as tell:
                        for step in range(50):
                            tell(ProgressStage("RUN true", step, 50))
            except BaseException as error:
                failures.append(error)
        threads = [Thread(target=build, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not failures, failures
        assert not progress._screen._lines and progress._screen._bars is None
    """)
    seen.ended()


def test_another_display_keeps_the_terminal() -> None:
    """Where a bar is drawn already, as in `gem rollout`, a line above it says what is made, and one that it ended."""
    seen = Seen("""
        from gem_cli.progress import progress as bars
        with bars() as bar:
            bar.add_task("episodes", total=3, note="")
            with showing("image of ledger") as tell:
                tell(ProgressStage("waiting for another"))
                tell(ProgressStage("RUN make everything", 2, 7))
                input()
                tell(ProgressStage("RUN make more", 3, 7))
    """)
    seen.until("image of ledger: RUN make everything (2 of 7)")
    seen.go_on()
    text = seen.ended()
    assert re.search(r"image of ledger: ended after \d+ s", text)
    assert "RUN make more" not in text


def test_a_child_that_was_forked_while_another_thread_wrote_to_the_terminal_writes_there() -> None:
    """The lock of the buffered standard error, which that thread holds, is held for ever in the child."""
    seen = Seen("""
        import faulthandler, os
        from threading import Thread
        sys.stderr = open(2, "w", closefd=False)
        thread = Thread(target=sys.stderr.buffer.write, args=(b"wide " * 200_000,))
        thread.start()
        os.read(0, 1)
        child = os.fork()
        if not child:
            faulthandler.dump_traceback_later(60, exit=True, file=2)
            with showing("in the child") as told:
                told(ProgressStage("RUN true", 1, 1))
                while not told.__self__._written:
                    time.sleep(0.01)
            os._exit(0)
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
    """)
    seen.until("wide")  # and no more is read, so that the thread stays in the middle of it
    seen.go_on()
    assert "in the child: RUN true (1 of 1)" in seen.ended()


def test_a_forked_child_leaves_the_display_to_its_parent() -> None:
    """A child that was forked meanwhile does not wait for the parent's lock, and writes a line in place of a bar."""
    seen = Seen("""
        import faulthandler, os
        from threading import Event, Thread
        held, forked = Event(), Event()
        def hold():
            with progress._screen.lock:
                held.set()
                forked.wait()
        with showing("image of ledger") as tell:
            tell(ProgressStage("RUN make everything", 2, 7))
            input()
            thread = Thread(target=hold)
            thread.start()
            held.wait()
            child = os.fork()
            if not child:
                faulthandler.dump_traceback_later(60, exit=True, file=2)
                with showing("in the child") as told:
                    told(ProgressStage("RUN true", 1, 1))
                    while not told.__self__._written:
                        time.sleep(0.01)
                os._exit(0)
            forked.set()
            thread.join()
            assert os.waitpid(child, 0)[1] == 0
    """)
    seen.until("2 of 7")
    seen.go_on()
    shown = seen.ended()
    assert "in the child: RUN true (1 of 1)" in shown
    assert not re.search("in the child[^:]*━", shown)


def test_an_error_ends_the_display() -> None:
    """What is raised while something is shown passes, and the terminal is given back."""
    seen = Seen("""
        try:
            with showing("image of ledger") as tell:
                tell(ProgressStage("RUN false", 1, 2))
                input()
                raise KeyError("it failed")
        except KeyError:
            pass
        assert progress._screen._bars is None
    """)
    seen.until("1 of 2")
    seen.go_on()
    assert "\x1b[?25h" in seen.ended()  # the cursor is back


def test_one_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    """Of many threads that ask for a lock one has it, and the others are told that they wait, and get it in turn."""
    inside, most, done = 0, 0, 0
    told: list[ProgressStage] = []
    all_wait = Event()

    def tell(stage: ProgressStage) -> None:
        told.append(stage)
        if len(told) == 7:
            all_wait.set()

    def ask() -> None:
        nonlocal inside, most, done
        with exclusive(tmp_path / "deep" / "lock", tell):
            inside += 1
            most = max(most, inside)
            all_wait.wait(PATIENT_FOR)
            inside -= 1
            done += 1

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (1, 8)
    assert all("waiting" in stage.text for stage in told)


def test_a_lock_that_cannot_be_had_stops_nobody() -> None:
    """Where the folder cannot be made, what was to be done is done; an error of its own passes."""
    with exclusive(Path("/proc/nothing/lock"), None):
        pass
    with pytest.raises(OSError, match="its own"), exclusive(Path("/proc/nothing/lock"), None):
        raise OSError("its own")
