"""The shapes of published rows, recognised by their columns: :func:`recognise` and :func:`read_published`.

Columns and images are those that the sets' own tools read: SWE-bench (the package swebench 4.1.0 and 5.0.2), SWE-bench
Pro (github.com/scaleapi/SWE-bench_Pro-os), SWE-Gym (github.com/SWE-Gym/SWE-Gym), SWE-smith
(github.com/SWE-bench/SWE-smith and the cards of its data sets), R2E-Gym (github.com/R2E-Gym/R2E-Gym), SWE-rebench
(github.com/SWE-rebench/SWE-bench-fork, and PrimeIntellect-ai/verifiers#1187 on its second version), Multi-SWE-bench
(github.com/multi-swe-bench/multi-swe-bench), NeMo Gym (github.com/NVIDIA-NeMo/Gym, its ``anyswe_agent``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from gem.tables import read_table
from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.published.columns import Columns
from gem_envs_swe.published.diffs import reversed_diff
from gem_envs_swe.published.logs import FAILURES_ALONE, log_form, parse_log
from gem_envs_swe.published.logs.outcome import PASSED, without_colours
from gem_envs_swe.published.published_row import MalformedRowError, PublishedRow
from gem_envs_swe.row import SweRow

__all__ = ["SHAPES", "RowShape", "read_published", "recognise"]

_F2P = ("FAIL_TO_PASS", "fail_to_pass", "f2p")
_P2P = ("PASS_TO_PASS", "pass_to_pass", "p2p")


@dataclass(frozen=True)
class RowShape:
    """The shape of a published set's rows."""

    name: str
    needs: frozenset[str]
    """Columns that tell the shape, in lower case."""
    read: Callable[[Columns], PublishedRow]
    lacks: frozenset[str] = frozenset()
    """Columns of a related shape that this one does not have."""

    def fits(self, columns: frozenset[str]) -> bool:
        """Return whether a row with these columns, in lower case, has the shape."""
        return self.needs <= columns and not self.lacks & columns


_FILE_OF_A_DIFF = re.compile(r"^(?:diff --git |--- )\S", re.MULTILINE)


def recognise(row: Mapping[str, Any]) -> RowShape | None:
    """Return the shape of a row by its columns, in any case; None if no set has them."""
    columns = frozenset(name.lower() for name in row if isinstance(name, str))
    return next((shape for shape in SHAPES if shape.fits(columns)), None)


def read_published(row: Mapping[str, Any]) -> PublishedRow:
    """Return what a published row says.

    Raises:
        MalformedRowError: if no published set has its columns, or one of them is missing or cannot be read.
    """
    shape = recognise(row)
    if shape is None:
        known = ", ".join(sorted(map(str, row))) or "none"
        raise MalformedRowError(
            "unknown columns",
            f"no published set has these columns: {known[:300]}; 'gem swe check --help' lists the sets that are known",
        )
    found = shape.read(Columns(row))
    for name in ("patch", "test_patch"):
        text = getattr(found.row, name)
        if text.strip() and not _FILE_OF_A_DIFF.search(text):
            raise MalformedRowError(f"{name} is no diff", f"{name} names no file that it changes: {text!r:.80}")
    return replace(found, shape=shape.name)


@lru_cache(maxsize=1)
def _log_forms() -> Mapping[str, str]:
    forms: Mapping[str, str] = read_table(__file__, "repositories.toml")["log_forms"]
    return forms


def _row(columns: Columns, **values: Any) -> SweRow:
    """Return the task of a row with the columns of SWE-bench; ``values`` replace what they say."""
    common: dict[str, Callable[[], Any]] = {
        "instance_id": lambda: columns.text("instance_id"),
        "repo": lambda: columns.text("repo"),
        "base_commit": lambda: columns.text("base_commit"),
        "version": lambda: columns.text("version", needed=False),
        "problem_statement": lambda: columns.text("problem_statement"),
        "patch": lambda: columns.text("patch"),
        "test_patch": lambda: columns.text("test_patch", needed=False),
        "FAIL_TO_PASS": lambda: columns.texts(*_F2P),
        "PASS_TO_PASS": lambda: columns.texts(*_P2P, needed=False),
    }
    return SweRow.model_validate({name: values[name] if name in values else read() for name, read in common.items()})


def _swe_bench(columns: Columns) -> PublishedRow:
    row = _row(columns)
    parser = columns.text("log_parser", needed=False)
    form = log_form(parser) or "" if parser else _log_forms().get(row.repo.lower(), "")
    kind = columns.text("eval_type", needed=False)
    instance = row.instance_id.lower().replace("__", "_1776_")
    return PublishedRow(
        shape="",
        row=row,
        image=columns.text("image", needed=False) or f"swebench/sweb.eval.x86_64.{instance}:latest",
        command=columns.text("eval_script", needed=False),
        log_form=form,
        parser=parser,
        fail_only=kind == "fail_only" if kind else form in FAILURES_ALONE,
    )


def _multimodal(columns: Columns) -> PublishedRow:
    assets = columns.object("image_assets")
    pictures = [one for one in _strings(assets.get("problem_statement")) if one]
    return replace(_swe_bench(columns), pictures=tuple(pictures))


def _strings(value: object) -> list[str]:
    """Return the texts in a list, and the addresses in a list of objects."""
    found = []
    for one in value if isinstance(value, list) else ():
        text = one.get("url") if isinstance(one, Mapping) else one
        if isinstance(text, str):
            found.append(text)
    return found


def _pro(columns: Columns) -> PublishedRow:
    parts = [columns.text("problem_statement")]
    for name, heading in (("requirements", "Requirements"), ("interface", "New interfaces introduced")):
        if text := columns.text(name, needed=False).strip():
            parts.append(f"{heading}:\n{text}")
    return PublishedRow(
        shape="",
        row=_row(columns, problem_statement="\n\n".join(parts)),
        image=f"jefzda/sweap-images:{columns.text('dockerhub_tag')}",
        workdir="/app",
        parser="the script parser.py that SWE-bench Pro has for each instance outside of its rows",
    )


def _swe_gym(columns: Columns) -> PublishedRow:
    row = _row(columns)
    instance = row.instance_id.lower().replace("__", "_s_")
    return PublishedRow(
        shape="",
        row=row,
        image=f"xingyaoww/sweb.eval.x86_64.{instance}:latest",
        log_form=_log_forms().get(row.repo.lower(), "pytest"),
    )


def _swe_smith(columns: Columns) -> PublishedRow:
    """Return a row of SWE-smith, whose column ``patch`` is the change that breaks the repository."""
    breaking = columns.text("patch")
    try:
        solution = reversed_diff(breaking)
    except ValueError as error:
        raise MalformedRowError("patch cannot be reversed", f"the column 'patch' cannot be reversed: {error}") from None
    image = columns.text("image_name")
    row = _row(columns, patch=solution, base_commit=image.rsplit(".", 1)[-1], test_patch="")
    of_python = all(".py" in test.partition("::")[0] for test in row.FAIL_TO_PASS)  # other languages have other runners
    return PublishedRow(
        shape="",
        row=row.model_copy(update={"break_patch": breaking}),
        image=image,
        command="pytest --disable-warnings --color=no --tb=no --verbose -rA" if of_python else "",
        log_form="pytest" if of_python else "",
    )


def _swe_rebench(columns: Columns) -> PublishedRow:
    """Return a row of SWE-rebench; its second version has ``image_name``, and other parsers under the same names."""
    install = columns.object("install_config")
    test_command = install.get("test_cmd") or ""
    if isinstance(test_command, list):
        test_command = "\n".join(map(str, test_command))
    parser = str(install.get("log_parser") or "")
    row = _row(columns)
    is_second = "image_name" in columns
    named = columns.text("docker_image", "image_name", needed=False)
    return PublishedRow(
        shape="",
        row=row,
        image=named or f"swerebench/sweb.eval.x86_64.{row.instance_id.lower().replace('__', '_1776_')}:latest",
        workdir=f"/{row.repo.rpartition('/')[2]}" if is_second else "/testbed",
        command=str(test_command),
        log_form="" if is_second else log_form(parser) or "",
        parser=f"{parser} of SWE-rebench V2" if is_second else parser,
    )


_ISSUE = re.compile(r"\[ISSUE\](.*)\[/ISSUE\]", re.DOTALL)


def _r2e_gym(columns: Columns) -> PublishedRow:
    """Return a row of R2E-Gym: the solution is the commit's files that are no tests, the tests lie in the image."""
    statement = columns.text("problem_statement")
    if (issue := _ISSUE.search(statement)) is not None:
        statement = issue[1].strip()
    expected = {
        without_colours(str(test)): str(outcome) for test, outcome in columns.object("expected_output_json").items()
    }
    before = _r2e_outcomes(columns.object("execution_result_content").get("old_commit_res_stdout"))
    passing = [test for test, outcome in expected.items() if outcome == PASSED]
    commit = columns.object("parsed_commit_content")
    repo = columns.text("repo_name")
    row = SweRow(
        instance_id=f"{repo}__{columns.text('commit_hash', 'docker_image')}",
        repo=repo,
        base_commit=str(commit.get("old_commit_hash") or ""),
        problem_statement=statement,
        patch=_r2e_patch(commit.get("file_diffs")),
        FAIL_TO_PASS=tuple(test for test in passing if before.get(test) != PASSED),
        PASS_TO_PASS=tuple(test for test in passing if before.get(test) == PASSED),
    )
    return PublishedRow(
        shape="",
        row=row,
        image=columns.text("docker_image"),
        command="bash /testbed/run_tests.sh",
        log_form="r2e",
    )


def _r2e_outcomes(log: object) -> dict[str, str]:
    return parse_log("r2e", log).by_test if isinstance(log, str) else {}


def _r2e_patch(files: object) -> str:
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for one in files if isinstance(files, list) else ():
        try:
            path = str(one["header"]["file"]["path"])
            texts = one.get("old_file_content") or None, one.get("new_file_content") or None
        except (KeyError, TypeError, AttributeError):
            raise MalformedRowError(
                "parsed_commit_content has no files", "the files of 'parsed_commit_content' have no path and content"
            ) from None
        if any(part.startswith("test") for part in path.split("/")):
            continue
        for tree, text in zip((before, after), texts, strict=True):
            if text is not None:
                tree[path] = str(text)
    if not (patch := diff_of(before, after)):
        raise MalformedRowError("no solution", "'parsed_commit_content' changes no file that is no test")
    return patch


def _multi_swe(columns: Columns) -> PublishedRow:
    """Return a row of Multi-SWE-bench; a test that was skipped or absent before the solution must pass as well."""
    organisation, name = columns.text("org"), columns.text("repo")
    number = columns.text("number")
    tests = {kind: tuple(columns.object(f"{kind}_tests")) for kind in ("f2p", "s2p", "n2p", "p2p")}
    issues = columns.value("resolved_issues")
    parts = [
        f"{issue.get('title') or ''}\n\n{issue.get('body') or ''}".strip()
        for issue in (issues if isinstance(issues, list) else ())
        if isinstance(issue, Mapping)
    ]
    statement = "\n\n".join(part for part in parts if part)
    if not statement:
        statement = f"{columns.text('title')}\n\n{columns.text('body', needed=False)}".strip()
    row = SweRow(
        instance_id=f"{organisation}__{name}-{number}",
        repo=f"{organisation}/{name}",
        base_commit=str(columns.object("base").get("sha") or ""),
        problem_statement=statement,
        patch=columns.text("fix_patch"),
        test_patch=columns.text("test_patch", needed=False),
        FAIL_TO_PASS=(*tests["f2p"], *tests["s2p"], *tests["n2p"]),
        PASS_TO_PASS=tests["p2p"],
    )
    return PublishedRow(
        shape="",
        row=row,
        image=f"mswebench/{organisation}_m_{name}:pr-{number}".lower(),
        workdir=f"/home/{name}",
        command="bash /home/fix-run.sh",
        parser="the method parse_log that multi_swe_bench has for each repository",
    )


def _nemo_gym(columns: Columns) -> PublishedRow:
    """Return a row of NeMo Gym, which holds a row of another set as JSON."""
    metadata = Columns(columns.object("responses_create_params")).object("metadata")
    outer = Columns(metadata)
    inner = dict(outer.object("instance_dict"))
    if not inner:
        raise MalformedRowError("no instance_dict", "the row has no object in its metadata's 'instance_dict'")
    for name in ("problem_statement", "instance_id"):
        if name not in inner and name in outer:
            inner[name] = outer.value(name)
    if _is_nested(inner):
        raise MalformedRowError("nested rows", "the 'instance_dict' of a row holds a row of the same kind again")
    found = read_published(inner)
    formatter = outer.text("container_formatter", needed=False).removeprefix("docker://")
    if formatter and "image" not in inner and "docker_image" not in inner:
        name = formatter.replace("{instance_id}", found.row.instance_id.replace("__", "_1776_").lower())
        found = replace(found, image=name if ":" in name.rpartition("/")[2] else f"{name}:latest")
    return found


def _is_nested(row: Mapping[str, Any]) -> bool:
    return any(isinstance(name, str) and name.lower() == "responses_create_params" for name in row)


_COMMON = frozenset({"instance_id", "repo", "problem_statement", "patch", "fail_to_pass"})
_BASE = _COMMON | {"pass_to_pass", "base_commit", "test_patch"}
_R2E = frozenset({"repo_name", "docker_image", "expected_output_json", "parsed_commit_content"})
_MULTI = frozenset({"org", "repo", "number", "fix_patch", "f2p_tests"})

SHAPES: tuple[RowShape, ...] = (
    RowShape("nemo-gym", frozenset({"responses_create_params"}), _nemo_gym),
    RowShape("multi-swe-bench", _MULTI, _multi_swe),
    RowShape("r2e-gym", _R2E, _r2e_gym),
    RowShape("swe-bench-pro", _BASE | {"dockerhub_tag"}, _pro),
    RowShape("swe-bench-multimodal", _BASE | {"image_assets"}, _multimodal),
    RowShape("swe-rebench", _BASE | {"install_config"}, _swe_rebench),
    RowShape("swe-smith", _COMMON | {"image_name"}, _swe_smith, frozenset({"base_commit", "install_config"})),
    RowShape("swe-gym", _BASE, _swe_gym, frozenset({"environment_setup_commit", "log_parser", "image"})),
    RowShape("swe-bench", _COMMON | {"base_commit"}, _swe_bench),
)
"""The shapes, in the order in which they are tried: one that has columns beyond another's comes first."""
