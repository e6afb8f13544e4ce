"""Packages of npm: archive and test runner, fetched without running any of their scripts, and the image of both."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import SourceArchive, unpack_archive
from gem_envs_swe.making.context import SYSTEM, USER
from gem_envs_swe.task_set import REPOSITORY

__all__ = ["NODE_MODULES", "NpmPackage", "check_npm_name", "fetch_package", "write_node_context"]

_NAME = re.compile(r"(?:@[a-z0-9][a-z0-9~._-]*/)?[a-z0-9][a-z0-9~._-]*(?:@[\w.^~<>=*+ -]+)?")
NODE_MODULES = f"{PurePosixPath(REPOSITORY).parent}/node_modules"
"""Node looks for packages in the folders above a file, so that they need not lie in the tree."""
_IMAGE = f"""\
RUN apt-get update && apt-get install -y --no-install-recommends nodejs && rm -rf /var/lib/apt/lists/*
COPY node_modules {NODE_MODULES}
COPY repo {REPOSITORY}
RUN cd {REPOSITORY} \\
 && git init --quiet --initial-branch main \\
 && git config --system --add safe.directory {REPOSITORY} \\
 && git add --all --force . \\
 && GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' \\
    git -c user.name=maintainer -c user.email=maintainer@localhost commit --quiet --message 'The package as released' \\
 && chown -R {USER}:{USER} {REPOSITORY}
WORKDIR {REPOSITORY}
USER {USER}
"""


class NpmPackage:
    """The source of a package of npm.

    Args:
        archive: its archive.
        tree: where it was unpacked.
    """

    def __init__(self, archive: SourceArchive, tree: Path) -> None:
        self.archive, self.tree = archive, tree
        try:
            self._described: dict[str, Any] = json.loads((tree / "package.json").read_text(encoding="utf-8"))
            self.name, self.version = str(self._described["name"]), str(self._described["version"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise SweError(f"{archive.path.name} has no package.json with a name and a version: {error}") from error

    @property
    def test_files(self) -> list[str]:
        """The files of tests, relative to the tree: those of JavaScript below ``test`` or ``tests``."""
        found = (path for name in ("test", "tests") for path in (self.tree / name).rglob("*.js"))
        return sorted(str(path.relative_to(self.tree)) for path in found)

    @property
    def source_files(self) -> list[str]:
        """The files of JavaScript that are no tests, examples or configuration."""
        named = (path.relative_to(self.tree) for path in self.tree.rglob("*.js"))
        return sorted(
            str(path) for path in named
            if path.parts[0] not in ("test", "tests", "example", "examples", "bench", "benchmark", "docs", "dist")
            and not path.name.startswith(".") and not path.name.endswith((".config.js", ".min.js"))
        )  # fmt: skip

    def needs(self) -> dict[str, str]:
        """Return the packages that its tests need: name → range of versions.

        Raises:
            SweError: if its tests are not run by tape.
        """
        development = self._table("devDependencies")
        if "tape" not in development:
            known = ", ".join(sorted(development)[:10]) or "none"
            raise SweError(f"the tests of {self.name} are not run by tape; its development packages are {known}")
        return {**self._table("dependencies"), "tape": development["tape"]}

    def _table(self, key: str) -> dict[str, str]:
        table = self._described.get(key) or {}
        if not isinstance(table, dict):
            raise SweError(f"{key} in the package.json of {self.name} is no object")
        return {str(name): str(version) for name, version in table.items()}


def check_npm_name(wanted: str) -> None:
    """Check that a text is the name of a package, with or without a version, such as ``minimist@1.2.8``.

    Raises:
        SweError: if it is none.
    """
    if not _NAME.fullmatch(wanted):
        raise SweError(f"{wanted!r} is no package of npm such as minimist@1.2.8")


def fetch_package(wanted: str, folder: Path) -> NpmPackage:
    """Fetch a package from the user's registry and unpack it.

    Args:
        wanted: a name with or without a version, such as ``minimist@1.2.8``.
        folder: a new folder.

    Raises:
        SweError: if npm is missing, or there is no such package.
    """
    check_npm_name(wanted)
    folder.mkdir(parents=True)
    said = _npm(["pack", wanted, "--pack-destination", str(folder), "--json"], folder)
    try:
        path = folder / Path(json.loads(said)[0]["filename"]).name
    except (ValueError, LookupError, TypeError) as error:
        raise SweError(f"npm said something else than the file of {wanted}: {said[:200]!r}") from error
    archive = SourceArchive.of(path)
    return NpmPackage(archive, unpack_archive(archive, folder / "source", holds="package.json"))


def write_node_context(package: NpmPackage, folder: Path) -> None:
    """Write the build context of a package: its tree, and the packages that its tests need.

    Raises:
        SweError: if they cannot be fetched.
    """
    folder.mkdir(parents=True)
    shutil.copytree(package.tree, folder / "repo")
    described = {"name": "tests", "private": True, "dependencies": package.needs()}
    (folder / "package.json").write_text(json.dumps(described), encoding="utf-8")
    _npm(["install", "--omit=dev", "--no-package-lock"], folder)
    shutil.rmtree(folder / "node_modules" / ".bin", ignore_errors=True)  # links
    (folder / "package.json").unlink()
    (folder / "Dockerfile").write_text(SYSTEM + _IMAGE, encoding="utf-8")


def _npm(arguments: list[str], folder: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise SweError("npm is not installed; it is needed to fetch packages of JavaScript")
    done = subprocess.run(  # noqa: S603
        [npm, *arguments, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"],
        cwd=folder, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise SweError(f"npm {arguments[0]} failed: {' '.join(lines)[:300]}")
    return done.stdout
