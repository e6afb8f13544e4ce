"""What the tools of a repository do in a session: :func:`use_tool`.

Everything runs with the rights of the agent's user, in its container. Paths and texts are an agent's words: they are
arguments of programs, never parts of scripts.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gem_envs_swe.workplace.actions import EditFile, RunTests, SearchFiles, ViewFile
from gem_terminal.actions import Bash, OtherAction, WriteFile
from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.episodes.task_session import ActionResult, TaskSession

__all__ = ["use_tool"]

_MOST_FILE = 1_000_000
"""Bytes of a file that can be edited."""
_AROUND = 4
"""Lines before and after an edit that its result shows."""
_LISTED = 20
"""Lines that a message names."""
_TESTS_TAKE = 600.0
"""Seconds of the time limit of ``run_tests``, if the episode has as many."""

# $2 and $3: the first and the last line, 0 for the end.
_VIEW = r"""
if [ -d "$1" ]; then
  cd -- "$1" && find . -mindepth 1 -maxdepth 2 -not -path '*/.*' -not -path '*/__pycache__*' -printf '%P%y\n' |
    sed 's/d$/\//; s/f$//; s/l$/@/' | LC_ALL=C sort | head -n 1000
elif [ ! -e "$1" ]; then echo "$1: there is no such file"; exit 1
elif [ ! -f "$1" ]; then echo "$1: not a regular file"; exit 1
else head -c 67108864 -- "$1" | awk -v first="$2" -v last="$3" '
  NR >= first && (last == 0 || NR <= last) { printf "%6d\t%s\n", NR, $0 }
  END { if (NR < first) printf "the file has %d lines\n", NR }'
fi"""
_READ = r"""
if [ ! -e "$1" ]; then echo "$1: there is no such file; with an empty old text, edit makes it"; exit 1; fi
if [ ! -f "$1" ]; then echo "$1: not a regular file"; exit 1; fi
if [ "$(wc -c < "$1")" -gt "$2" ]; then echo "$1: too large to be edited; use bash"; exit 1; fi
cat -- "$1"
"""
_IS_NEW = r"""
if [ -e "$1" ] || [ -L "$1" ]; then echo "$1: exists; an empty old text makes new files only"; exit 1; fi"""
# $2: the pattern
_SEARCH = r"""
if [ ! -e "$1" ]; then echo "$1: there is no such file or folder"; exit 1; fi
timeout 20 grep -HrnIE --exclude-dir=.git --exclude-dir=__pycache__ -e "$2" -- "$1" | cut -b -500 | head -n 500
"""


def use_tool(action: OtherAction, session: TaskSession, test_command: Sequence[str], output: int) -> ActionResult:
    """Carry out an action.

    Args:
        action: one of :data:`~gem_envs_swe.workplace.actions.SWE_ACTIONS` that is none of a terminal.
        session: the session.
        test_command: runs the tests of the repository; their names follow it.
        output: the bytes that a result shows.

    Raises:
        EngineError: if the container or the engine died.
    """
    if isinstance(action, ViewFile):
        return _shown(session, output, _VIEW, action.path, str(action.first or 1), str(action.last or 0))
    if isinstance(action, SearchFiles):
        found = _shown(session, output, _SEARCH, action.path, action.pattern.replace("\0", ""))
        return found if found.text else ActionResult("Nothing fits.", found.info)
    if isinstance(action, RunTests):
        command = " ".join(map(shlex.quote, (*test_command, *action.tests)))
        return session.bash(Bash(command, _TESTS_TAKE))
    assert isinstance(action, EditFile)
    return _edited(action, session)


def _shown(session: TaskSession, output: int, script: str, path: str, *arguments: str) -> ActionResult:
    done = session.run_script(script, path, *arguments)
    kept = BoundedOutput(output)
    kept.add(done.output.rstrip(b"\n"))
    return ActionResult(kept.text(), {"exit_code": done.exit_code}, done.exit_code == 0)


def _edited(action: EditFile, session: TaskSession) -> ActionResult:
    if not action.old:
        made = session.run_script(_IS_NEW, action.path)
        if made.exit_code != 0:
            return ActionResult(made.output.decode(errors="replace").strip() or "it cannot be made", ok=False)
        return session.write_file(WriteFile(action.path, action.new))
    read = session.run_script(_READ, action.path, str(_MOST_FILE))
    if read.exit_code != 0:
        return ActionResult(read.output.decode(errors="replace").strip() or f"{action.path} cannot be read", ok=False)
    # Bytes in place of text: what is not UTF-8 elsewhere in the file stays as it is.
    old, new = (text.encode(errors="replace") for text in (action.old, action.new))
    count = read.output.count(old)
    if count != 1:
        return ActionResult(_why_not(action.path, read.output, old, count), ok=False)
    at = read.output.index(old)
    content = read.output[:at] + new + read.output[at + len(old) :]
    written = session.write_bytes(action.path, content)
    return _region(content, at, len(new)) if written.ok else written


def _why_not(path: str, content: bytes, old: bytes, count: int) -> str:
    if count:
        lines, at = list[str](), -1
        while (at := content.find(old, at + 1)) >= 0 and len(lines) < _LISTED:
            lines.append(str(content.count(b"\n", 0, at) + 1))
        return f"{path} has the text {count} times, at the lines {', '.join(lines)}; add lines around it"
    if b"\r\n" in content and old.replace(b"\r\n", b"\n") in content.replace(b"\r\n", b"\n"):
        return f"{path} has the text with line ends of Windows (\\r\\n); use bash"
    wanted = [line.strip() for line in old.split(b"\n") if line.strip()]
    begins = [number for number, line in enumerate(content.split(b"\n"), 1) if wanted and line.strip() == wanted[0]]
    if begins:
        where = ", ".join(map(str, begins[:_LISTED]))
        return f"{path} does not have the text exactly; its first line, but for blanks, is at {where}: view it"
    return f"{path} does not have the text; view the file and copy it exactly, without the line numbers"


def _region(content: bytes, at: int, length: int) -> ActionResult:
    first = content.count(b"\n", 0, at)
    last = first + content.count(b"\n", at, at + length)
    lines = content.split(b"\n")
    begin = max(first - _AROUND, 0)
    shown = [
        f"{number:6d}\t{line.decode(errors='replace')}"
        for number, line in enumerate(lines[begin : last + _AROUND + 1], begin + 1)
    ]
    if len(shown) > 4 * _LISTED:
        shown = [*shown[: 2 * _LISTED], "   ...", *shown[-2 * _LISTED :]]
    return ActionResult("Edited:\n" + "\n".join(shown), {"exit_code": 0})
