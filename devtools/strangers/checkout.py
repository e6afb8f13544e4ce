"""The working tree as a stranger would have cloned it: HEAD's history, and the files as they are now."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from devtools.shell import ROOT, fail, output_of, run

__all__ = ["pack_checkout"]


def pack_checkout(target: Path, root: Path = ROOT) -> None:
    """Write a tar archive of a clone of a working tree, with its changes and new files that are not ignored.

    Raises:
        SystemExit: if the folder is no checkout of git.
    """
    with tempfile.TemporaryDirectory() as scratch:
        # Root may read the repository of another user, which git refuses otherwise.
        settings = Path(scratch) / "gitconfig"
        settings.write_text("[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n", encoding="utf-8")
        variables = {"GIT_CONFIG_GLOBAL": str(settings)}
        listed = output_of(
            "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=root
        )
        if listed is None:
            fail(f"{root} is no checkout of git, or there is no git")
        clone = Path(scratch) / "clone"
        run("git", "init", "--quiet", clone, variables=variables)
        fetch = ("git", "fetch", "--quiet", "--update-shallow", root, "+HEAD:refs/remotes/origin/main")
        run(*fetch, cwd=clone, variables=variables)
        run("git", "update-ref", "refs/heads/main", "refs/remotes/origin/main", cwd=clone, variables=variables)
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file() or (root / name).is_symlink():
                (clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, clone / name, follow_symlinks=False)
        run("git", "reset", "--quiet", cwd=clone, variables=variables)
        with tarfile.open(target, "w") as archive:
            archive.add(clone, arcname=".")
