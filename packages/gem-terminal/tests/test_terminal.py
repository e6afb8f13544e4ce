"""The terminal's screen: what stands on it for what a program writes, which is what tmux shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gem_terminal.shells.screen import bytes_of
from gem_terminal.shells.terminal import Terminal

COLUMNS, ROWS = 80, 24


def shown(*pieces: bytes) -> str:
    """Return the text of a screen that was fed these, one after the other."""
    terminal = Terminal(COLUMNS, ROWS, lambda _: None)
    for piece in pieces:
        terminal.feed(piece)
    return terminal.text()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"hello\r\nworld", "hello\nworld"),
        (b"$ vim\r\n\x1b[?1049h\x1b[H\x1b[2Jin vim\x1b[?1049l$ ", "$ vim\n$"),
        (b"a\r\nb\r\nc\x1b[S", "b\nc"),
        (b"a\r\nb\x1b[2T", "\n\na\nb"),
        (b"ab\x1b[3bc", "abbbbc"),
        (b"a\tb\tc\x1b[ZX", "a       b       X"),
        (b"ab\x1b[scd\x1b[uX", "abXd"),
        (b"a\x1bEb", "a\nb"),
        (b"\x1b(0lqk\x1b(B box", "┌─┐ box"),
        ("日本語 e\u0301!".encode(), "日本語 é!"),
        ("\u2764\ufe0f and\u200b more".encode(), "\u2764 and more"),
        (b"\x1b]0;a title\x07text", "text"),
        (b"\x1b]8;;there\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP+q544e\x1b\\text", "text"),
        (b"\x1b[38:2:1:2:3mcolour\x1b[0m", "colour"),
        (b"\x1b[>4;2m\x1b[?4m\x1b[>1u\x1b[<u\x1b[!p\x1b[2 q\x1b[?2026hplain", "plain"),
        (b"a\xffb\x00c\x7f", "a\N{REPLACEMENT CHARACTER}bc"),
    ],
)
def test_the_screen_shows_what_a_person_would_see(written: bytes, text: str) -> None:
    """Full-screen programs, wide characters, line drawing and sequences that show nothing are understood."""
    assert shown(written) == text
    assert shown(*(bytes([byte]) for byte in written)) == text


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(b"\x1b[c", b"\x1b[?1;2c"), (b"\x1b[5n", b"\x1b[0n"), (b"ab\x1b[6n", b"\x1b[1;3R"), (b"\x1b[>c", b"")],
)
def test_questions_are_answered(asked: bytes, answer: bytes) -> None:
    """A program that waits to be told where the cursor is does not wait for ever."""
    said: list[bytes] = []
    Terminal(COLUMNS, ROWS, said.append).feed(asked)
    assert b"".join(said) == answer


def test_cursor_keys_are_sent_as_the_program_wants_them() -> None:
    """Editors and menus ask for the application form, a shell for the other."""
    terminal = Terminal(COLUMNS, ROWS, lambda _: None)
    assert bytes_of(["Up", "M-x", "C-c", "F5", "-"], terminal.application_keys) == b"\x1b[A\x1bx\x03\x1b[15~-"
    terminal.feed(b"\x1b[?1h")
    assert bytes_of(["Up", "Home", "F5"], terminal.application_keys) == b"\x1bOA\x1bOH\x1b[15~"


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"\x1b[", b"\x1b]", b"\x1bP", b"9" * 300, b";", b"h", b"r"])))
def test_nothing_written_raises(pieces: list[bytes]) -> None:
    """Whatever comes, in whatever pieces, the screen keeps its size."""
    lines = shown(*pieces).split("\n")
    assert len(lines) <= ROWS
    assert all(len(unicodedata.normalize("NFC", line)) <= COLUMNS * 9 for line in lines)


FLOODS = [
    *[
        b"x",
        b"\n",
        b"9;",
        b"\x1b",
        b"\x1b[",
        b"\x1bP",
        b"\x1b]0;",
        b"\x1b7",
        b"\x1b[9999b",
        b"\x1b[9999L",
        b"\x1b[9999S",
    ],
    *[b"\x1b[1;1;1;1;1;1m", b"\x1b[?1049h", b"\x1b[?1049l", "e\u0301".encode(), "\u0301".encode()],
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("piece", FLOODS)
def test_floods_are_read_in_linear_time(piece: bytes) -> None:
    """Eight times as much costs far less than 64 times; in processor time, the best of three, cut as a pipe cuts."""

    def seconds(count: int) -> float:
        best = float("inf")
        flood = b"a" + piece * count
        for _ in range(3):
            began = time.process_time()
            shown(*(flood[start : start + 4096] for start in range(0, len(flood), 4096)))
            best = min(best, time.process_time() - began)
        return best

    assert seconds(4_000) < 32 * max(seconds(500), 1e-3)


class Tmux:
    """A tmux of this test, in whose pane bytes are written as they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._command = ["tmux", "-S", str(folder / "socket"), "-f", os.devnull]
        self._count = 0

    def shown(self, written: bytes) -> str:
        self._count += 1
        data, done = self._folder / "data", self._folder / f"done-{self._count}"
        data.write_bytes(written)
        # The answer to a question comes once all that was written before it has been shown.
        ask = "printf '\\033[6n'; head -c 1 >/dev/null"
        tell = f"tmux -S {self._folder / 'socket'} wait-for -S {done.name}"
        script = self._folder / "script"
        script.write_text(f"stty raw -echo; cat {data}; {ask}; {tell}; exec sleep 1000")
        name = f"s{self._count}"
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self._run("new-session", "-d", "-s", name, *size, f"sh {script}")
        self._run("wait-for", done.name)
        text = self._run("capture-pane", "-p", "-t", name)
        if self._count > 1:
            self._run("kill-session", "-t", f"s{self._count - 1}")
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def close(self) -> None:
        self._run("kill-server")

    def _run(self, *arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        command = [*self._command, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.fixture(scope="module")
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tmux]:
    """A tmux, where it is installed."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, so the screen is not compared with it")
    made = Tmux(tmp_path_factory.mktemp("tmux"))
    yield made
    made.close()


NUMBERS = st.sampled_from(["", "0", "1", "2", "3", "7", "20"])
WRITTEN = st.one_of(
    st.text("abc xyz", min_size=1, max_size=12),
    st.sampled_from(
        ["w" * 70, "w" * 90, "日本", "\r\n", "\n", "\r", "\r\t\b\b", "\t", "\x1b[r", "\x1b7", "\x1b8", "\x1bM", "\x1bE"]
    ),
    st.builds("\x1b[{};{}H".format, NUMBERS, NUMBERS),
    st.builds("\x1b[{}{}".format, NUMBERS, st.sampled_from("ABCDEFGPX@dSTZ")),
    st.builds("\x1b[{}{}".format, st.sampled_from(["", "1", "2"]), st.sampled_from("JK")),
    st.builds("\x1b[{}{}".format, st.sampled_from(["?7", "?25", "?1", "?1049", "4"]), st.sampled_from("hl")),
)


def columns_of(line: str) -> int:
    """Return how many columns a line takes; the characters of two are those of Japanese here."""
    return sum(1 + (character > "\u1100") for character in line)


MARGINS = st.builds("\x1b[{};{}r".format, st.integers(1, 10), st.integers(12, 24))
# Not together with margins: outside of them tmux inserts and removes lines, and other terminals do not.
LINES = st.builds("\x1b[{}{}".format, NUMBERS, st.sampled_from("LM"))


@pytest.mark.slow
@settings(max_examples=60)
@given(pieces=st.lists(WRITTEN | MARGINS, max_size=14) | st.lists(WRITTEN | LINES, max_size=14))
def test_the_screen_is_that_of_tmux(tmux: Tmux, pieces: list[str]) -> None:
    """Text, movements, editing, scrolling and both screens come out as in the terminal that people know."""
    written = "".join(pieces).encode()
    screen = shown(written)
    # Where a full line goes on in the next one, tmux loses a cell of that while it inserts.
    assume("\x1b[4h" not in pieces or all(columns_of(line) < COLUMNS for line in screen.splitlines()))
    assert screen == tmux.shown(written)
