"""A hub that promises and serves a page of any shape: each command ends in an answer or in one sentence."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from signed_results import NAME, OWNER, code_record, made_result, new_key, signed_event, toy_release
from toy_hub import synthetic_release

from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command

pytestmark = pytest.mark.usefixtures("own_folders")

ODD: tuple[Any, ...] = (
    None,
    5,
    -1,
    1.5,
    True,
    "",
    "x",
    "\x1b[2J\u202e",
    "9" * 400,
    [],
    [None],
    {},
    {"a": 1},
    [[[]]],
    10**30,
    "http://[::1",
    ">=" + "9" * 5_000,
    "\ud800",
)
"""What stands in the place of a value of a page."""

GONE = object()
"""A value that is left out."""

COMMANDS = (
    ("info", NAME),
    ("info", "toy:Thing-v0", "--results"),
    ("results", "list", NAME),
    ("results", "check", NAME),
    ("install", NAME, "--dry-run"),
    ("sbom", NAME),
    ("diff", NAME),
    ("verify",),
)


@pytest.fixture
def hub(store: Store, tmp_path: Path) -> Path:
    """A hub with two releases, a run of the kit, and two results on the older one."""
    for version in ("0.1.0", "0.2.0"):
        release = toy_release(version)
        store.publish(release, None, synthetic_release(NAME, version, publisher=OWNER)[1])
        store.add_event(code_record(release))
    for account in (OWNER, "bob"):
        key = new_key(tmp_path, account)
        store.add_result(signed_event(made_result(account, key, [1.0, 0.0, 1.0]), key), None)
    return store.folder


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value inside a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in children:
        yield (*path, key)
        yield from places(inner, (*path, key))


def promise(hub: Path, page: Any) -> None:
    """Write a page, and let the catalogue promise it, as an operator can."""
    content = json.dumps(page).encode()
    (hub / "envs" / f"{NAME}.json").write_bytes(content)
    root = json.loads((hub / "root.json").read_bytes())
    for part in (root["snapshot"], *root["segments"]):
        path = hub / part["url"]
        lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        for line in lines:
            line["page_sha256"] = hashlib.sha256(content).hexdigest()
        packed = gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        path.write_bytes(packed)
        part.update(sha256=hashlib.sha256(packed).hexdigest(), size=len(packed))
    (hub / "root.json").write_text(json.dumps(root), encoding="utf-8")


def with_odd_value(page: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """Return a copy of a page with another value at a place."""
    changed = target = json.loads(json.dumps(page))
    for key in path[:-1]:
        target = target[key]
    if odd is GONE:
        del target[path[-1]]
    else:
        target[path[-1]] = odd
    return changed


BY_DAY: tuple[tuple[tuple[Any, ...], Any], ...] = (
    (("owners",), 5),
    (("results",), None),
    (("results", 0), {}),
    (("results", 0, "environment"), 5),
    (("releases", 0, "project_urls"), None),
    (("releases", 0, "requires_dist"), GONE),
    (("releases", 0, "sha256"), "\x1b[2J\u202e"),
    (("releases", 1, "url"), "http://[::1"),
    (("releases", 1, "requires_python"), ">=" + "9" * 5_000),
)


@pytest.mark.parametrize("changes", [BY_DAY, pytest.param((), marks=pytest.mark.nightly)], ids=["some", "all"])
def test_whatever_a_page_says_each_command_ends_in_words(
    hub: Path, monkeypatch: pytest.MonkeyPatch, changes: tuple[tuple[tuple[Any, ...], Any], ...]
) -> None:
    """A number where a text belongs, and its like, end in an answer or a refusal, never in an error of Python."""
    monkeypatch.setenv("GEM_HUB", str(hub))
    page = json.loads((hub / "envs" / f"{NAME}.json").read_bytes())
    for path, odd in changes or product(places(page), (GONE, *ODD)):
        promise(hub, with_odd_value(page, path, odd))
        for command in COMMANDS:
            done = CliRunner().invoke(hub_command, command)
            expected = done.exception is None or isinstance(done.exception, SystemExit)
            assert expected, (path, odd, command, done.exception)
            assert not {"\x1b", "\u202e"} & {*done.output}, (path, odd, command)
