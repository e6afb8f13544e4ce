"""A row whose image is made from a source archive: the solution passes and nothing fails, for us and for swebench."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from published_rows import ROWS, without
from test_swebench_oracle import answers, library

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import configured_indexes, fetch_archive, unpack_archive
from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.published.grading import RowResolution, grade_log
from gem_envs_swe.published.images import image_of, write_image
from gem_envs_swe.published.logs import parse_log
from gem_envs_swe.published.recipes import recipe_for
from gem_envs_swe.published.running import log_of_tests
from gem_envs_swe.published.shapes import read_published
from gem_terminal.engines import Engine, engine_by_name
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

__all__ = ["library"]

LIMITS = ResourceLimits(memory=2 << 30)
PYTHON = "3.11.2"
RELEASES = [("pallets/flask", "2.3", "2.3.2", "2.3.3"), ("marshmallow-code/marshmallow", "3.20", "3.20.1", "3.20.2")]


def _engine() -> Engine:
    try:
        return engine_by_name("auto")
    except EngineError as error:
        pytest.skip(f"NOT TESTED: no engine works here: {error}")


def released_row(repo: str, version: str, before: str, after: str, folder: Path) -> dict[str, object]:
    """Return a row with the columns of SWE-bench whose solution and tests are what a release changed."""
    trees = []
    for number, release in enumerate((before, after)):
        archive = fetch_archive(Requirement(f"{repo.partition('/')[2]}=={release}"), configured_indexes(), folder)
        tree = unpack_archive(archive, folder / str(number))
        trees.append({str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*.py")})
    kept: list[dict[str, str]] = []
    for tests in (False, True):
        old, new = ({path: text for path, text in tree.items() if path.startswith("tests/") is tests} for tree in trees)
        kept += [old, new]
    return without(
        ROWS["swe-bench"],
        repo=repo,
        version=version,
        instance_id=f"{repo.replace('/', '__')}-1",
        patch=diff_of(
            {p: t for p, t in kept[0].items() if p.startswith("src/")},
            {p: t for p, t in kept[1].items() if p.startswith("src/")},
        ),
        test_patch=diff_of(kept[2], kept[3]),
    )


@pytest.mark.containers
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("repo", "version", "before", "after"), RELEASES)
def test_an_image_from_a_source_archive_plays_a_row(
    repo: str, version: str, before: str, after: str, tmp_path: Path, library: Path
) -> None:
    """The hidden tests that fail without the solution pass with it, on the tree that was taken back from a release."""
    engine = _engine()
    row = released_row(repo, version, before, after, tmp_path)
    found = read_published(row)
    recipe = recipe_for(found.row)
    assert recipe is not None
    assert write_image(found, recipe, tmp_path / "image", PYTHON) == f"{recipe.project}-{after}"
    reference = engine.prepare(Image(folder=tmp_path / "image"))
    logs = {}
    for name, change in (("gold", found.row.patch), ("nothing", "")):
        with engine.start(reference, LIMITS) as container:
            logs[name] = log_of_tests(container, found.row, change, recipe.test_command)
    outcomes = {name: parse_log(found.log_form, log).by_test for name, log in logs.items()}
    passed = {test for test, outcome in outcomes["gold"].items() if outcome == "PASSED"}
    f2p = sorted(test for test in passed if outcomes["nothing"].get(test) != "PASSED")
    p2p = sorted(passed.difference(f2p))
    assert f2p, outcomes
    assert p2p
    asked = [
        {"form": found.log_form, "log": log, "f2p": f2p, "p2p": p2p, "eval_type": "pass_and_fail"}
        for log in logs.values()
    ]
    theirs = [answer["resolution"] for answer in answers(library, asked)]
    ours = [grade_log(found.log_form, log, f2p, p2p).resolution for log in logs.values()]
    assert ours == [RowResolution.FULL, RowResolution.NO]
    assert theirs == [one.value for one in ours]


class _Nothing:
    """An engine without images."""

    name = "docker"

    def has_base(self, name: str) -> bool:
        """Return False for every name."""
        return False


def test_a_row_without_image_and_recipe_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """The message names the row, the image, and what to do."""
    found = read_published(without(ROWS["swe-bench"], repo="astropy/astropy", version="5.0"))
    with pytest.raises(
        SweError, match=r"cannot be played here: .*sweb\.eval.*no recipe for astropy/astropy 5\.0.*docker load"
    ):
        image_of(found, _Nothing(), tmp_path, PYTHON)  # type: ignore[arg-type]
    assert shutil.which("git") is None or not (tmp_path / "image").exists()
