"""gem-llm and gem-core in one environment: whichever file wins, the user reads one sentence with the remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

SOURCES = Path(__file__).parents[1] / "packages/gem-core/src"
CLIENT = Path(__file__).parents[1] / "packages/gem-hub-client/src"

ORIGINAL = {
    # What gem-llm 0.1.0 installs, as far as it matters here: its __init__.py, its core, and modules of its own.
    "__init__.py": "from gem.core import Env\nfrom gem.envs.registration import make\n",
    "core.py": "class Env:\n    pass\n\nclass EnvWrapper(Env):\n    pass\n",
    "envs/__init__.py": "",
    "envs/registration.py": "def make(env_id, **kwargs):\n    raise KeyError(env_id)\n",
    "utils/parsing.py": "",
}
OVERWRITTEN = ("__init__.py", "core.py")
REMEDY = "pip install --force-reinstall --no-deps gem-core"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with gem-core's packages, as pip lays them out."""
    for package in ("gem", "gem_command"):
        copytree(SOURCES / package, tmp_path / package)
    return tmp_path


def lay_out(site: Path, *, original_last: bool) -> None:
    """Add the original's files; those of gem-core stay where both have one, unless the original came last."""
    for name, text in ORIGINAL.items():
        path = site / "gem" / name
        if original_last or not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


def run(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code that sees the folder first, and the client of the hub."""
    start = f"import sys; sys.path[:0] = [{str(site)!r}, {str(CLIENT)!r}]\n"
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, check=False)


COMMAND = "sys.argv = ['gem', 'list']; from gem_cli.start import run; run()"


@pytest.mark.parametrize("original_last", [True, False])
def test_the_command_says_what_to_do(site: Path, original_last: bool) -> None:
    """Whichever was installed last, 'gem' prints one sentence with the remedy, and no traceback."""
    lay_out(site, original_last=original_last)
    done = run(site, COMMAND)
    assert done.stderr.count("gem-llm and gem-core have both installed files") == 1
    assert done.stderr.count("\n") == 1
    assert REMEDY in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if original_last else 0)


def test_the_first_import_says_what_to_do(site: Path) -> None:
    """With gem-core installed last, 'import gem' works and warns once of the files beside it."""
    lay_out(site, original_last=False)
    done = run(site, "import gem; import gem.core; print(gem.Env.__module__)")
    assert done.stdout == "gem.core\n"
    assert done.stderr.count(REMEDY) == 1


def test_after_the_original_has_been_removed_the_command_says_what_is_missing(site: Path) -> None:
    """Uninstalling removes the files that both had; the command prints one sentence, and no traceback."""
    for name in OVERWRITTEN:
        (site / "gem" / name).unlink()
    done = run(site, COMMAND)
    assert done.returncode == 1
    assert REMEDY in done.stderr
    assert "Traceback" not in done.stderr


def test_alone_gem_core_warns_of_nothing(site: Path) -> None:
    """Without files of the original, import and command print no warning."""
    done = run(site, "import gem; " + COMMAND)
    assert (done.returncode, done.stderr) == (0, "")
