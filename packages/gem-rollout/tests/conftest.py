"""What the tests of this package share."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def published_template(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """A function that returns the text of a chat template by its name in trl, which holds copies of published ones.

    Nothing of the package is installed.
    """
    folder = tmp_path_factory.mktemp("trl")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), "trl==1.16.0"]
    done = subprocess.run(download, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index could be reached: {done.stderr[-300:]}")
    (wheel,) = folder.glob("trl-*.whl")

    def read(name: str) -> str:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(f"trl/chat_templates/{name}.jinja").decode()

    return read
