"""Tasks of a set as tasks in containers: :class:`SweTask`, and :func:`load_tasks`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gem_envs_swe.errors import SweError
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import IMAGE, REPOSITORY, SweSet, read_rows, read_set
from gem_envs_swe.workplace.patching import apply_patch
from gem_envs_swe.workplace.source_tree import SourceTree, text_of
from gem_terminal.engines.contexts import digest_of
from gem_terminal.task import CopiedFolder, Image, ResourceLimits, Task, Tests
from gem_terminal.verdicts.verdict_worth import user_of_image

__all__ = ["TASK_LIMITS", "SweTask", "image_of_set", "load_tasks", "task_key"]

_TREE = "repo"
"""The folder of the package's tree in the build context."""
TASK_LIMITS = ResourceLimits(memory=2 << 30, processes=256)
"""Those of the agent's container, and of the one in which its changes are judged."""
# The agent owns what it works on: sed writes a new file. The history holds nothing but the tree that it begins with.
# The repository lies beside the tree, so that looking for changes does not go through its objects.
_SETUP = r"""
[ $# = 0 ] || LC_ALL=C sed -i -- '' "$@" || exit
rm -rf .git || exit
command -v git >/dev/null || exit 0
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z
git init -q -b main --template= --separate-git-dir "$HOME/.repository" . && mkdir "$HOME/.repository/info" || exit
printf '%s\n' '*.egg-info/' __pycache__/ .pytest_cache/ > "$HOME/.repository/info/exclude"
git add -A && git -c user.name=maintainer -c user.email=maintainer@localhost -c maintenance.auto=false -c gc.auto=0 \
  commit -q --no-verify --no-status -m 'The package'
"""


@dataclass(frozen=True)
class SweTask:
    """A row of a set, with the files that it is about.

    Raises:
        SweError: on the first use of files that a patch of the row does not fit.
    """

    row: SweRow
    described: SweSet
    tree: SourceTree
    image: Image
    key: str
    """Names the row and the image, whatever the folder."""

    @cached_property
    def begun(self) -> Mapping[str, str | None]:
        """The files in which the agent's tree differs from the package's own; None for one that is gone."""
        return apply_patch(self.row.break_patch, self._original)

    @cached_property
    def solved(self) -> Mapping[str, str | None]:
        """The files that the solution changes, as it leaves them."""
        return apply_patch(self.row.patch, self.text)

    @cached_property
    def hidden(self) -> Mapping[str, str | None]:
        """The files of the hidden tests."""
        return apply_patch(self.row.test_patch, self.text)

    def text(self, path: str) -> str | None:
        """Return a file of the tree that the agent begins with; None if there is none."""
        return self.begun[path] if path in self.begun else self._original(path)

    def test_text(self, path: str) -> str | None:
        """Return a file as the hidden tests leave the tree that the agent begins with."""
        return self.hidden[path] if path in self.hidden else self.text(path)

    def files(self, changed: Mapping[str, str | None]) -> dict[str, tuple[bytes, int] | None]:
        """Return files as a container gets them."""
        return {
            path: None if text is None else (text.encode(errors="surrogateescape"), self.tree.mode(path))
            for path, text in changed.items()
        }

    @cached_property
    def container_task(self) -> Task:
        """The task in a container."""
        return Task(
            name=self.row.instance_id,
            instruction=self.row.problem_statement,
            image=self.image,
            tests=Tests((), "exit 1"),
            folder=self.tree.folder / self.row.instance_id,
            format="swe",
            limits=TASK_LIMITS,
            pristine=True,
            workdir=REPOSITORY,
            user=user_of_image(self.image),  # what engines run as without a word differs
            setup=(_SETUP, *sorted(path for path, text in self.begun.items() if text is not None)),
            folders=(CopiedFolder(None, REPOSITORY, self.files(self.begun)),),
            metadata={"kind": self.row.kind, "level": self.row.level, "repo": self.row.repo},
        )

    def _original(self, path: str) -> str | None:
        content = self.tree.read(path)
        return None if content is None else text_of(content)


def load_tasks(folder: Path) -> list[SweTask]:
    """Return the tasks of a set.

    Raises:
        SweError: if the folder is no finished set; the message says what is wrong with it.
    """
    described, rows = read_set(folder), read_rows(folder)
    if not rows:
        raise SweError(f"{folder} holds no tasks")
    if described.test_form != "pytest":
        raise SweError(f"{folder}: tests of the form {described.test_form!r} cannot be played; those of pytest can")
    names = [row.instance_id for row in rows]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SweError(f"{folder} has two tasks of the name {twice!r}")
    tree = SourceTree(folder / IMAGE / _TREE)
    image = image_of_set(folder)
    return [SweTask(row, described, tree, image, task_key(image, row)) for row in rows]


def image_of_set(folder: Path) -> Image:
    """Return the image of a set, with the digest of its context."""
    context = Image(folder=(folder / IMAGE).resolve())
    return Image(folder=context.folder, digest=digest_of(context))


def task_key(image: Image, row: SweRow) -> str:
    """Return the name of a row and its image."""
    return hashlib.sha256(f"{image.digest} {row.model_dump_json()}".encode(errors="replace")).hexdigest()
