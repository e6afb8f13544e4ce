"""Layers of images on file systems of many kinds: they show what was built, or the error names the folder to change."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gem_terminal.engines.namespace.saved_layers import save_layer
from gem_terminal.errors import EngineError

pytestmark = pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="root alone mounts file systems")

Mount = Callable[[str, Path, str], Path]
_LINUX = tuple(map(int, platform.release().split("-")[0].split(".")[:2])) if sys.platform == "linux" else (0, 0)
_OLD_OVERLAYS = {("overlay", "replaced")} if _LINUX < (6, 7) else set()
"""Overlays in which an overlay cannot note that it replaced a folder (nesting, overlayfs.rst of Linux)."""
CHANGES = {
    "new file": "echo new > folder/new; chmod 4755 folder/new; ln -s new folder/link; mkfifo pipe; chown 5:6 pipe",
    "deleted file": "rm folder/old",
    "deleted folder": "rm -r folder",
    "replaced folder": "rm -r folder; mkdir folder; echo new > folder/new",
    "folder replaced by a file": "rm -r folder; echo new > folder",
}


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mounts a file system of a kind on a folder that it makes."""
    with ExitStack() as mounted:

        def make(kind: str, place: Path, options: str = "") -> Path:
            place.mkdir()
            done = subprocess.run(
                ["mount", "-t", kind, *(("-o", options) if options else ()), kind, place],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                pytest.skip(f"this machine mounts no {kind}: {done.stderr.strip()}")
            mounted.callback(lambda: subprocess.run(["umount", "-l", place], check=True))
            return place

        yield make


def overlay(mount: Mount, parent: Path, name: str, *lower: Path) -> tuple[Path, Path]:
    """Mount an overlay whose own files lie in memory; return its root and its upper folder."""
    own = mount("tmpfs", parent / f"{name}-own", "size=16m")
    for folder in ("upper", "work"):
        (own / folder).mkdir()
    options = f"lowerdir={':'.join(map(str, lower))},upperdir={own / 'upper'},workdir={own / 'work'}"
    return mount("overlay", parent / name, options), own / "upper"


def shown_in(root: Path) -> dict[str, tuple[object, ...]]:
    """What a folder holds."""
    return {
        str(path.relative_to(root)): (
            oct(path.lstat().st_mode), path.lstat().st_uid, path.lstat().st_gid,
            path.read_text() if path.is_file() and not path.is_symlink() else "",
        )
        for path in root.rglob("*")
    }  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["tmpfs", "overlay", "ramfs"])
def test_a_layer_shows_what_was_built_or_is_refused(kind: str, change: str, mount: Mount, tmp_path: Path) -> None:
    """Above the same base it has the same entries, modes and owners, on a file system that takes its marks."""
    base = tmp_path / "base"
    (base / "folder").mkdir(parents=True)
    (base / "folder" / "old").write_text("old")
    built, upper = overlay(mount, tmp_path, "built", base)
    subprocess.run(["sh", "-ec", CHANGES[change]], cwd=built, check=True)
    if kind == "overlay":
        (tmp_path / "nothing").mkdir()
        store, _ = overlay(mount, tmp_path, "store", tmp_path / "nothing")
    else:
        store = mount(kind, tmp_path / "store", "")
    layer = store / "layer"
    layer.mkdir()
    if (kind, change.partition(" ")[0]) in {("overlay", "deleted"), ("ramfs", "replaced"), *_OLD_OVERLAYS}:
        with pytest.raises(EngineError, match=r"cannot be .*marked there.*GEM_TERMINAL_IMAGES"):
            save_layer(str(upper), layer)
        return
    save_layer(str(upper), layer)
    again, _ = overlay(mount, tmp_path, "again", layer, base)
    assert shown_in(again) == shown_in(built)
