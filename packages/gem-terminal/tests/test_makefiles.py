"""What an image's makefiles make is not carried in its place, and what an agent has built is made anew."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from gem_terminal.engines.base import FileChanges
from gem_terminal.verdicts.carried_files import CarryRules
from gem_terminal.verdicts.declarations import Declarations
from gem_terminal.verdicts.makefiles import FIND_RULES, targets_of

MAKEFILE = r"""# note: no rule
CC := gcc
FLAGS = a:b
.PHONY: clean install
all: tool report.txt ; @echo done
check:
	./check.sh
check-all lint : check
	true
tool: main.c \
  util.c
	$(CC) -o $@ $^
report.txt:: data.csv
%.o: %.c
$(OUT): main.c
clean:
	rm -f tool
verify: # nothing
export NAME
SUITES = unit \
  end-to-end  # both
ALL := $(SUITES) docs
$(ALL) $(call x,y) ${SUITES:%=a-%}:
$(LEVEL)-tests: unit
LEVEL ?= deep
ordered: | lint
idle: $(NOTHING) ${NONE}
NONE =
built: $(SUITES:%=%.o)
slow: export LEVEL = 3
slow:
a:b
"""


def test_the_targets_of_makefiles_are_read(tmp_path: Path) -> None:
    """By the commands that look at an image, in any folder, with the values of variables and the rules of what may be
    included; patterns, unknown variables and phony targets are left out.
    """
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "GNUmakefile").write_text("deep:\n\ttrue\nbuild/x: y\n")
    (tmp_path / "a b" / "rules.mk").write_text("shared:\n\ttrue\nhere:\n.PHONY: here check\n")
    (tmp_path / "notes.txt").write_text("other:\n")
    done = subprocess.run(["sh", "-c", FIND_RULES, "sh", tmp_path], capture_output=True, text=True, check=False)
    root = PurePosixPath(tmp_path)
    assert targets_of(done.stdout) == {
        root / "all": True,
        root / "check": False,
        root / "check-all": True,
        root / "lint": True,
        root / "unit": False,
        root / "end-to-end": False,
        root / "docs": False,
        root / "deep-tests": True,
        root / "ordered": False,
        root / "idle": False,
        root / "built": True,
        root / "slow": False,
        root / "a": True,
        root / "shared": False,
        root / "a b/shared": False,
        root / "tool": True,
        root / "report.txt": True,
        root / "verify": False,
        root / "a b/deep": False,
        root / "a b/build/x": True,
    }


def carried(path: str, kind: bytes, content: bytes = b"", *, image: tuple[str, ...] = ()) -> tuple[list[str], int]:
    """The paths that are carried of one entry and the folders around it, and the time of the last."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(path.lstrip("/"))
        member.type, member.size, member.mtime, member.linkname = kind, len(content), 2_000_000_000, "data.txt"
        archive.addfile(member, io.BytesIO(content))
    rules = CarryRules(
        declared=(PurePosixPath("/app"),),
        author=Declarations(paths=(PurePosixPath("/app/named"),), names=frozenset(("check", "tool"))),
        targets={PurePosixPath("/app", name): name in ("tool", "out") for name in ("check", "named", "tool", "out")},
    )
    files = rules.carried(FileChanges((("/", buffer.getvalue()),), ()), lambda _: dict.fromkeys(image, True))
    with tarfile.open(fileobj=io.BytesIO(files.archive)) as made:
        members = made.getmembers()
    return [f"/{member.name}" for member in members], int(members[-1].mtime) if members else 0


@pytest.mark.parametrize(
    ("path", "kind", "content"),
    [
        ("/app/check", tarfile.DIRTYPE, b""),
        ("/app/check/inside.txt", tarfile.REGTYPE, b"text"),
        ("/app/check", tarfile.REGTYPE, b"text"),
        ("/app/check", tarfile.REGTYPE, b"\0"),
        ("/app/check", tarfile.REGTYPE, b"\x7fELF\2\1\1"),
        ("/app/check", tarfile.SYMTYPE, b""),
        ("/app/out", tarfile.DIRTYPE, b""),
        ("/app/out/inside.txt", tarfile.REGTYPE, b"text"),
        ("/app/tool", tarfile.SYMTYPE, b""),
    ],
)
def test_nothing_new_takes_the_place_of_a_target(path: str, kind: bytes, content: bytes) -> None:
    """Whatever it is, and though the instruction has the word, as in ``run make check``."""
    assert carried(path, kind, content) == ([], 0)


def test_what_was_built_is_older_than_all_that_it_is_made_of() -> None:
    """So make makes it anew, and tests that execute it find it."""
    assert carried("/app/tool", tarfile.REGTYPE, b"\x7fELF\2\1\1") == (["/app/tool"], 0)


def test_what_the_author_names_by_its_path_and_what_the_image_has_are_carried() -> None:
    """Folders and files alike."""
    assert carried("/app/named", tarfile.DIRTYPE)[0] == ["/app/named"]
    assert carried("/app/out/inside.txt", tarfile.REGTYPE, b"text", image=("/app/out",))[0] == ["/app/out/inside.txt"]
    assert carried("/app/other", tarfile.DIRTYPE)[0] == ["/app/other"]
