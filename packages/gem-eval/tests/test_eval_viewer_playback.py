"""Recordings of terminals in the page of gem view: the screen against another terminal emulator, and the player."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import BROWSER, ChromiumPage

from gem_eval.runs import RunFolder
from gem_eval.viewer.page_files import page_files

NODE = shutil.which("node")
COLUMNS, ROWS = 20, 6
REGIONS = ["\x1b[2;6r", "\x1b[1;6r", "\x1b[3;6r"]
VERTICAL = ["\r\x1b[{}A", "\r\x1b[{}B", "\r\x1bM"]  # beyond the last column, pyte wraps later than xterm
SEQUENCES = [
    "\r", "\n", "\r\n", "\b", "\t", "\r\x1bD", "\x1b7", "\b\x1b[{}C", "\b\x1b[{}D", "\x1b[{}G", "\r\x1b[{}d",
    "\x1b[{};{}H", "\x1b[H", "\b\x1b[J", "\b\x1b[1J", "\x1b[2J", "\b\x1b[K", "\b\x1b[1K", "\x1b[2K", "\r\x1b[{}L",
    "\r\x1b[{}M", "\b\x1b[{}P", "\b\x1b[{}@", "\b\x1b[{}X", "\x1b[1;31m", "\x1b[0m", "\x1b[?25l",
    "\x1b]0;title\x07", "\x1b(B",
]  # fmt: skip
"""What programs for terminals write: vim, less, top and shells."""
READ = """
import { TerminalScreen } from "./terminal_screen.mjs";
import { readFileSync } from "node:fs";
const { columns, rows, texts } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => {
  const screen = new TerminalScreen(columns, rows);
  screen.write(text);
  return screen.text().split("\\n");
})));
"""


@pytest.fixture
def shown(tmp_path: Path) -> Callable[[list[str]], list[list[str]]]:
    """Return the screens that the page shows after texts."""
    if NODE is None:
        pytest.skip("runs a module of the page: install node")
    (tmp_path / "terminal_screen.mjs").write_bytes(page_files()["terminal_screen.js"].content)
    (tmp_path / "read.mjs").write_text(READ)

    def of(texts: list[str]) -> list[list[str]]:
        asked = json.dumps({"columns": COLUMNS, "rows": ROWS, "texts": texts})
        done = subprocess.run(
            [NODE, str(tmp_path / "read.mjs")], input=asked, capture_output=True, text=True, check=True
        )
        answer: list[list[str]] = json.loads(done.stdout)
        return answer

    return of


def test_the_screen_is_that_of_another_terminal(shown: Callable[[list[str]], list[list[str]]]) -> None:
    """Hundreds of random outputs give the same screens as pyte."""
    pyte = pytest.importorskip("pyte", reason="compares with pyte")
    rng = random.Random(7)

    def output() -> str:
        # Lines that nothing was written to, pyte does not delete.
        parts = [f"\x1b[{row};1Hline {row}" for row in range(1, ROWS + 1)]
        # Outside of a scrolling region, pyte lets the cursor jump into it, as xterm does not.
        sequences = [*SEQUENCES, *(REGIONS if rng.random() < 0.5 else VERTICAL)]
        for _ in range(rng.randrange(1, 30)):
            if rng.random() < 0.5:
                parts.append("".join(rng.choices("abcxyz ", k=rng.randrange(1, 30))))
            else:
                parts.append(rng.choice(sequences).format(rng.randrange(1, 9), rng.randrange(1, 25)))
        return "".join(parts)

    texts = [output() for _ in range(300)]
    for text, lines in zip(texts, shown(texts), strict=True):
        screen = pyte.Screen(COLUMNS, ROWS)
        pyte.Stream(screen).feed(text)
        assert lines == [line.rstrip() for line in screen.display], repr(text)


def test_a_scrolling_region_leaves_the_lines_around_it(shown: Callable[[list[str]], list[list[str]]]) -> None:
    """A status line below it stays where it is, and the cursor there scrolls nothing, as in xterm."""
    region = "\x1b[6;1Hstatus\x1b[2;4r\x1b[1;1Hhead\x1b[2;1H1\r\n2\r\n3"
    down, up, below = shown([f"{region}\r\n4", f"{region}\x1b[2;1H\x1bM0", f"{region}\x1b[6;7H\n\n!"])
    assert down == ["head", "2", "3", "4", "", "status"]
    assert up == ["head", "0", "1", "2", "", "status"]
    assert below == ["head", "1", "2", "3", "", "status!"]


def test_a_program_that_takes_the_screen_gives_it_back(shown: Callable[[list[str]], list[list[str]]]) -> None:
    """The alternate screen, which pyte lacks; and sequences that no terminal knows change nothing."""
    other = "one\x1b[?1049h\x1b[Htwo"
    first, second, third = shown([other, f"{other}\x1b[?1049l!", "a\x1b[99999999z\x1b[1;2;3qb"])
    assert (first[0], second[0], third[0]) == ("two", "one!", "ab")


@pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium")
@pytest.mark.xdist_group("chromium")
def test_a_recording_in_the_record_is_played(
    make_run: Callable[..., RunFolder], view: Callable[..., ChromiumPage]
) -> None:
    """The last turn has a player, whose slider shows each moment; the info does not repeat the recording."""
    header = {"version": 2, "width": 30, "height": 4}
    events = [[0.5, "m", "ls"], [1.0, "o", "$ ls\r\n"], [60.0, "o", "a.txt <b>\u202eb\r\n"], [60.5, "o", "done"]]
    cast = "\n".join(map(json.dumps, [header, *events])) + "\n"
    page = view(make_run(episodes=1, turns=2, info={"asciicast": cast, "task": "demo"}), at="#/0/0/2")
    page.wait_for("document.querySelector('.playback .screen')")
    slider = "const slider = document.querySelector('.playback input'); slider.value = %d;"
    slide = f"(() => {{ {slider} slider.dispatchEvent(new Event('input')); }})()"
    page.evaluate(slide % 1000)
    assert page.text(".playback .screen").splitlines()[:3] == ["$ ls", "a.txt <b>\ufffdb", "done"]
    page.evaluate(slide % 400)
    assert page.text(".playback .screen").splitlines()[0] == "$ ls"
    assert "done" not in page.text(".playback .screen")
    assert "3.5 s" in page.text(".playback .controls")  # the long pause is shortened
    assert page.text(".playback .marker") == "ls"
    assert "asciicast" not in page.text(".turn:nth-of-type(2) .extras")
