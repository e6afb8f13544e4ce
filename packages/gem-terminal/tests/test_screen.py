"""The terminal of an episode, on every engine: the first screen has what the program shows, however long it takes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from gem_terminal.engines import Container, Engine
from gem_terminal.shells.screen import Screen, _changes
from gem_terminal.task import Image, ResourceLimits

PATIENT = 60.0
"""Seconds for what ends by itself."""


@pytest.fixture(scope="module")
def container(engine: Engine, small: Image) -> Iterator[Container]:
    """A container that the tests of this file share."""
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20)) as made:
        yield made


@pytest.fixture
def screen(container: Container) -> Iterator[Screen]:
    """A fresh terminal in it."""
    made = Screen(container)
    yield made
    made.close()


@pytest.mark.every_engine
def test_the_first_screen_has_the_output(screen: Screen) -> None:
    """A program that is silent for longer than a screen takes to settle, twice, is waited for until the prompt."""
    text = screen.press(["sleep 0.6; echo fir''st; sleep 0.6; echo la''st", "Enter"], PATIENT)
    assert "\nfirst\nlast\n" in text
    assert text.rstrip().endswith("#")


@pytest.mark.parametrize(
    ("command", "asks", "answer", "shown"),
    [
        ("sleep 0.5; read -p 'Na''me? ' x; echo \"<$x>\"", "Name?", "Ada", "<Ada>"),
        ("head -n 1 | tr a-z A-Z", "A-Z", "ada", "ADA"),
        ("sh", "# ", "sleep 0.5; echo in''ner", "inner"),
    ],
)
def test_a_program_that_waits_for_keys_is_shown_at_once(
    screen: Screen, command: str, asks: str, answer: str, shown: str
) -> None:
    """Long before the time limit, which such a program would reach, whatever the limit is."""
    begin, limit = time.monotonic(), 600.0
    assert asks in screen.press([command, "Enter"], limit)
    assert shown in screen.press([answer, "Enter"], limit)
    assert time.monotonic() - begin < limit / 2


def test_the_time_limit_and_the_least_wait_hold(screen: Screen) -> None:
    """A program that goes on is shown as it is; without keys it is waited for again; a wait is waited out."""
    begin = time.monotonic()
    assert "en''ded" in screen.press(["sleep 2; echo en''ded", "Enter"], 0.5)
    assert "\nended" in screen.press([], PATIENT)
    assert time.monotonic() - begin >= 2.0
    begin = time.monotonic()
    screen.press(["x"], PATIENT, 0.5)
    assert time.monotonic() - begin >= 0.5


def test_lines_that_scroll_off_are_shown_once(screen: Screen) -> None:
    """A long output is whole; what was on the screen before is not shown again with it."""
    screen.press(["echo be''fore", "Enter"], PATIENT)
    lines = screen.press(["seq 1 100", "Enter"], PATIENT).splitlines()
    assert [line for line in lines if line.isdigit()] == [str(number) for number in range(1, 101)]
    assert "before" not in lines
    assert "1" not in screen.press(["true", "Enter"], PATIENT).splitlines()


def test_only_what_has_changed_is_shown_and_the_whole_on_request(screen: Screen) -> None:
    """Earlier output does not come again with each turn; without keys it does."""
    screen.press(["echo fir''st; echo sec''ond", "Enter"], PATIENT)
    text = screen.press(["echo thi''rd", "Enter"], PATIENT)
    assert ("first" in text, "\nthird\n" in text) == (False, True)
    assert re.match(r"\[\d+ rows above as before\]\n", text)
    assert {"first", "second", "third"} <= set(screen.press([], PATIENT).splitlines())
    screen.press(["printf '\\033[2J\\033[H'; seq 1 9; head -n 1; printf '\\033[5;1HX'; head -n 1", "Enter"], PATIENT)
    lines = screen.press(["Enter"], PATIENT).splitlines()
    assert [line for line in lines if not line.startswith("[")] != []
    assert "3" not in lines


@pytest.mark.parametrize(
    ("before", "scrolled", "rows", "shown"),
    [
        (["a", "b"], [], ["a", "b"], "[the screen is as before]"),
        (["a", "b"], [], ["a", "b", "c"], "[2 rows above as before]\nc"),
        (["a", "b", "c"], [], ["a", "x", "c"], "[1 row above as before]\nx\n[1 row below as before]"),
        (["a", "b"], ["a", "b"], ["c", "d"], "[2 rows above as before]\nc\nd"),
        (["a", "$"], ["a"], ["$ x", "c"], "[1 row above as before]\n$ x\nc"),
        ([], [], ["a"], "a"),
    ],
)
def test_the_changes_of_a_screen(before: list[str], scrolled: list[str], rows: list[str], shown: str) -> None:
    """Rows that scroll up are as before, too."""
    assert _changes(before, scrolled, rows, whole=False) == shown
