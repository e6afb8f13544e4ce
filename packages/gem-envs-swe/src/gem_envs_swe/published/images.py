"""Images of published rows: by reference where an engine has it, else made from a source archive by a recipe.

A row's commit is no release. The archive is that of a release near it: one whose tree takes the solution and the hidden
tests, or one that has both, from which they are taken back. So the tree differs from the commit in what else changed
between the two; the proof that the row can be played is that its tests fail without its solution and pass with it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import configured_indexes, fetch_archive, unpack_archive
from gem_envs_swe.making.context import write_context
from gem_envs_swe.making.requirements import Needs, fetch_wheels
from gem_envs_swe.published.published_row import PublishedRow
from gem_envs_swe.published.recipes import ImageRecipe, recipe_for
from gem_terminal.engines import Engine
from gem_terminal.task import Image

__all__ = ["image_of", "write_image"]


def image_of(found: PublishedRow, engine: Engine, folder: Path, python: str) -> Image:
    """Return the image of a row.

    Args:
        found: the row.
        engine: looks for the image; nothing is downloaded but sources and wheels.
        folder: a new folder for the build context, where one is made.
        python: the version of Python of made images, such as ``3.11.2``.

    Raises:
        SweError: if the engine does not have the image and none can be made; the message says why.
    """
    if engine.has_base(found.image):
        return Image(name=found.image)
    recipe = recipe_for(found.row)
    if recipe is None:
        raise SweError(
            f"{found.row.instance_id} cannot be played here: the {engine.name} engine does not have its image "
            f"{found.image}, and there is no recipe for {found.row.repo} {found.row.version or 'without a version'}; "
            f"get the image where there is a network, and add it with: docker load"
        )
    write_image(found, recipe, folder, python)
    return Image(folder=folder)


def write_image(found: PublishedRow, recipe: ImageRecipe, folder: Path, python: str) -> str:
    """Write the build context of a row's image, and return the release that its tree comes from.

    Raises:
        SweError: if no release takes the row's patches, or what it requires cannot be had.
    """
    scratch = folder.with_name(f"{folder.name}-sources")
    try:
        tree = _base_tree(found, recipe, scratch)
        needs = Needs(tree, python)
        needs.for_tests = [*recipe.requirements]
        required = fetch_wheels(needs, python, scratch / "wheels")
        if lacking := set(recipe.requirements) - set(required):
            raise SweError(f"what the tests of {recipe.project} need cannot be had as wheels: {', '.join(lacking)}")
        write_context(tree, scratch / "wheels", required, folder)
        return tree.name
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _base_tree(found: PublishedRow, recipe: ImageRecipe, scratch: Path) -> Path:
    """Return the tree of a release that the row's patches apply to, or from which they were taken back."""
    tried = []
    for number, requirement in enumerate(_releases(recipe.project, found.row.version)):
        try:
            archive = fetch_archive(requirement, configured_indexes(), scratch)
        except SweError as error:
            tried.append(str(error))
            continue
        tree = unpack_archive(archive, scratch / str(number))
        patches = [found.row.test_patch, found.row.patch]
        if _takes(tree, patches):
            return tree
        if _takes(tree, patches, back=True):
            _apply(tree, patches, "-R")
            return tree
        tried.append(f"{tree.name} neither takes its patches nor has them")
    raise SweError(f"no image of {found.row.instance_id} can be made: {'; '.join(tried)}")


def _releases(project: str, version: str) -> Iterator[Requirement]:
    """Return the last and the first release of a line of versions."""
    for specifier in (f"=={version}.*", f"=={version}.0", f"=={version}"):
        yield Requirement(f"{project}{specifier}")


def _takes(tree: Path, patches: Sequence[str], *, back: bool = False) -> bool:
    return _apply(tree, patches, "--check", *(("-R",) if back else ()))


def _apply(tree: Path, patches: Sequence[str], *options: str) -> bool:
    """Apply patches with git, or ask whether they apply; git refuses paths that lead out of the tree."""
    git = shutil.which("git")
    if git is None:
        raise SweError("git is needed to apply the patches of a row; install it")
    done = subprocess.run(  # noqa: S603
        [git, "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", *options, "-"],
        input="".join(patch if patch.endswith("\n") else f"{patch}\n" for patch in patches if patch).encode(),
        cwd=tree,
        env={"GIT_CEILING_DIRECTORIES": str(tree.parent), "PATH": str(Path(git).parent), "HOME": str(tree.parent)},
        capture_output=True,
        check=False,
    )
    return done.returncode == 0
