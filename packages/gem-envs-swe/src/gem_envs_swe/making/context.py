"""The image of a set: a build context with the tree of a package and the wheels that it needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import parse_wheel_filename

from gem_envs_swe.task_set import REPOSITORY

__all__ = ["SYSTEM", "USER", "system_context", "write_context"]

USER = "agent"
"""The owner of the tree, who runs its tests."""
SYSTEM = """\
FROM debian:bookworm-slim
RUN apt-get update \\
 && apt-get install -y --no-install-recommends \\
      bzip2 ca-certificates curl file gcc git less libc6-dev make procps python3 sqlite3 unzip vim-tiny xz-utils zip \\
 && rm -rf /var/lib/apt/lists/* \\
 && useradd --create-home --shell /bin/bash agent
"""
"""The first layer, which is that of the bundled tasks of gem-terminal, so that a machine has it once."""
_PACKAGE = f"""\
COPY tools /opt/tools
RUN PYTHONPATH=$(echo /opt/tools/pip-*.whl) python3 -m pip install --quiet --no-index --no-deps \\
      --break-system-packages --root-user-action ignore /opt/tools/*.whl
COPY wheels /opt/wheels
RUN python3 -m pip install --quiet --no-index --find-links /opt/tools --find-links /opt/wheels \\
      --break-system-packages --root-user-action ignore -r /opt/wheels/requirements.txt
COPY repo {REPOSITORY}
RUN cd {REPOSITORY} \\
 && PYTHONDONTWRITEBYTECODE=1 python3 -m pip install --quiet --no-index --no-deps --no-build-isolation \\
      --break-system-packages --root-user-action ignore --no-compile --editable . \\
 && git init --quiet --initial-branch main \\
 && printf '%s\\n' '*.egg-info/' '__pycache__/' '.pytest_cache/' > .git/info/exclude \\
 && git config --system --add safe.directory {REPOSITORY} \\
 && git add --all --force -- . ':!*.egg-info' \\
 && GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' \\
    git -c user.name=maintainer -c user.email=maintainer@localhost commit --quiet --message 'The package as released' \\
 && chown -R {USER}:{USER} {REPOSITORY}
WORKDIR {REPOSITORY}
USER {USER}
"""
_TOOLS = frozenset(
    ("pip", "setuptools", "wheel", "editables", "pytest", "iniconfig", "packaging", "pluggy", "pygments", "coverage")
)
"""The distributions of the second layer, which is the same for all packages that put up with the newest of them."""


def system_context(folder: Path) -> None:
    """Write the build context of the first layer alone, which says which Python the package will have."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(SYSTEM, encoding="utf-8")


def write_context(tree: Path, wheels: Path, requirements: Iterable[str], folder: Path) -> None:
    """Write the build context of a package.

    Args:
        tree: its source, which is copied.
        wheels: the folder of the wheels of all requirements.
        requirements: what to install from them.
        folder: the context; what it held is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tree, folder / "repo")
    for name in ("tools", "wheels"):
        (folder / name).mkdir()
    for path in sorted(wheels.glob("*.whl")):
        is_tool = parse_wheel_filename(path.name)[0] in _TOOLS
        shutil.copy2(path, folder / ("tools" if is_tool else "wheels"))
    listed = "".join(f"{line}\n" for line in requirements)
    (folder / "wheels" / "requirements.txt").write_text(listed, encoding="utf-8")
    (folder / "Dockerfile").write_text(SYSTEM + _PACKAGE, encoding="utf-8")
