"""Sources that compilers and interpreters would take in place of their library's, and those that only look alike."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from gem_terminal.verdicts.carried_kinds import is_library_folder, is_library_source


@pytest.mark.parametrize(
    "path",
    [
        *("assert.h", "include/stdio.h", "src/sys/types.h", "x/gtest/gtest.h", "gtest/internal/a.h"),
        *("endian.h", "src/alloca.h", "include/linux/types.h", "asm/types.h", "ext/type_traits.h"),
        *("strict.pm", "lib/Test/More.pm", "lib/Test2/API/Context.pm", "lib/POSIX.pm", "lib/json.rb"),
        *("lib/minitest/autorun.rb", "src/main/java/org/junit/Assert.java", "k/src/org/junit/jupiter/api/Test.kt"),
    ],
)
def test_a_source_of_a_library_is_known_by_the_end_of_its_path(path: str) -> None:
    """In any folder, which may be on a search path."""
    assert is_library_source(PurePosixPath("/app", path))


@pytest.mark.parametrize(
    "path",
    [
        *(
            "types.h",
            "memory.h",
            "vector.h",
            "my_assert.h",
            "assert.h.txt",
            "sys/types.c",
            "system/types.h",
            "ssys/x.h",
        ),
        *("src/linux/platform.h", "debug/log.h", "asm/boot.h", "elf.h", "search.h"),
        *("lib/My/Exporter.pm", "lib/My/Test.pm", "lib/app/json.rb", "app/models/set.rb", "src/junit/report.py"),
        *("src/main/java/app/Assert.java", "junit/report.xml", "lib/strict.py", "include/gtest.h"),
    ],
)
def test_other_sources_are_carried(path: str) -> None:
    """Honest work has names of its own."""
    assert not is_library_source(PurePosixPath("/app", path))


def test_a_link_in_place_of_a_folder_of_a_library_is_known() -> None:
    """What it leads to has other names, so the link itself is refused."""
    assert all(map(is_library_folder, ("sys", "netinet", "gtest", "junit", "Test2", "minitest", "Data")))
    assert not any(map(is_library_folder, ("src", "data", "lib", "file", "include", "time", "assert.h")))
