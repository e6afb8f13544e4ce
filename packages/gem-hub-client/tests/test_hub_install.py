"""What the client makes of a hub's words before an installer hears of them, and which installer that is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from gem_hub_client import installer
from gem_hub_client.cli.install import _origin
from gem_hub_client.config import Hub, hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.install import Item
from gem_hub_client.installed import InstalledPackage, installed_package
from gem_hub_client.installer import Installer, find_installer, find_locker, pinned_line
from gem_hub_client.lock import check_name
from gem_hub_client.releases import IndexedRelease, read_release
from gem_hub_client.resolve import Choice
from gem_hub_client.simple import kind_of, read_html, read_json

SHA = "ab" * 32
FILE = "toy_envs-0.1.0-py3-none-any.whl"
WEB = Hub("https://hub.example/gem/", "https://hub.example/gem/")


def entry(**changes: Any) -> dict[str, Any]:
    """Return a release as ``envs/NAME.json`` lists it."""
    return {
        "version": "0.1.0",
        "filename": FILE,
        "url": f"../../files/ab/{SHA}/{FILE}",
        "sha256": SHA,
        "size": 1000,
        "metadata_sha256": SHA,
        "mode": "host",
        "requires_python": ">=3.10",
        "requires_gem_core": ">=0.1,<0.2",
        "requires_dist": ["gem-core>=0.1,<0.2", "toy-base; extra == 'big'"],
        "provides_extra": ["big"],
        "yanked": None,
        "environments": [{"id": "toy:Thing-v0"}],
        "conformance": [],
        **changes,
    }


def read(hub: Hub = WEB, **changes: Any) -> IndexedRelease:
    return read_release(hub, "toy-envs", entry(**changes))


def test_a_hosted_file_lies_in_its_own_hub(tmp_path: Path) -> None:
    """The address is made from the hub's and the digest: over the network, and in a folder with any characters."""
    assert read().url == f"https://hub.example/gem/files/ab/{SHA}/{FILE}"
    folder = tmp_path / "a hub; $HOME #1"
    url = read(hub_at(str(folder))).url
    assert url == (folder / "files" / "ab" / SHA / FILE).as_uri()
    assert not set(url) & set(" ;$#")


def test_a_linked_file_lies_where_the_hub_says() -> None:
    """In mode link the address is the hub's word, and the digest goes with it."""
    release = read(mode="link", url=f"https://files.example/{FILE}")
    line = pinned_line(Choice(release, ("big",), (), ()))
    assert line == f"toy-envs[big] @ https://files.example/{FILE}#sha256={SHA}"
    parsed = Requirement(line)
    assert (parsed.name, parsed.extras, parsed.url) == ("toy-envs", {"big"}, f"{release.url}#sha256={SHA}")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (
            {"mode": "link", "url": f"https://files.example/{FILE}"},
            f"{WEB.name} (file from files.example), ",
        ),
        ({"mode": "link", "url": f"https://hub.example/{FILE}"}, f"{WEB.name}, "),
        ({}, f"{WEB.name}, "),
    ],
)
def test_the_host_that_a_file_comes_from_is_named(changes: dict[str, Any], shown: str) -> None:
    """A hub's name does not stand for a file that lies elsewhere."""
    assert _origin(Item(Choice(read(**changes), (), (), ()), "install", None)).startswith(shown)


def test_what_has_no_file_has_no_address() -> None:
    """An unreleased package has a folder instead, and a quarantined one nothing."""
    source = read(mode="source", url="", filename="", sha256="", size=0, source="packages/toy-envs")
    assert (source.url, source.filename, source.source) == ("", "", "packages/toy-envs")
    assert read(url="").url == ""


HOSTILE: list[dict[str, Any]] = [
    {"url": f"../../files/ab/{SHA}/../../../{FILE}"},
    {"url": f"https://elsewhere.example/{FILE}"},
    {"mode": "link", "url": f"file:///etc/{FILE}"},
    {"mode": "link", "url": f"ftp://files.example/{FILE}"},
    {"mode": "link", "url": f"git+https://files.example/{FILE}"},
    {"mode": "link", "url": f"https://files.example/{FILE}\n--index-url https://evil.example"},
    {"mode": "link", "url": f"https://files.example/{FILE} --pre"},
    {"mode": "link", "url": f"https://files.example/${{TOKEN}}/{FILE}"},
    {"mode": "link", "url": f"https://files.example/{FILE}#sha256={'0' * 64}"},
    {"mode": "link", "url": f"https://files.example/{FILE};x"},
    {"mode": "copy"},
    {"sha256": "ab" * 31},
    {"sha256": SHA.upper()},
    {"sha256": SHA + "\n"},
    {"sha256": None},
    {"size": 0},
    {"size": True},
    {"filename": "toy_envs-0.2.0-py3-none-any.whl"},
    {"filename": "other-0.1.0-py3-none-any.whl"},
    {"filename": "toy_envs-0.1.0.tar.gz"},
    {"filename": f"../{FILE}"},
    {"filename": ""},
    {"version": "0.1.00"},
    {"version": "0.1.0+local"},
    {"version": "1; import os"},
    {"version": None},
    {"requires_dist": ["toy-base @ https://evil.example/x.whl"]},
    {"requires_dist": ["-r evil"]},
    {"requires_dist": 3},
    {"requires_python": "whatever"},
    {"environments": [3]},
    {"conformance": [{"packages": [{}]}]},
]


@pytest.mark.parametrize("changes", HOSTILE, ids=str)
def test_a_hostile_release_is_refused(changes: dict[str, Any]) -> None:
    """Whatever could make an installer take another file, or another meaning, is refused with the hub's name."""
    with pytest.raises(HubError, match=r"hub\.example") as caught:
        read(**changes)
    assert "\n" not in str(caught.value)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            key: st.none()
            | st.integers()
            | st.text()
            | st.lists(st.text() | st.none())
            | st.dictionaries(st.text(), st.none())
            for key in entry()
        },
    )
)
def test_any_release_is_read_or_refused(changes: dict[str, Any]) -> None:
    """Values of any type end in a release whose pin is one plain line, or in a HubError."""
    try:
        release = read(**changes)
    except HubError:
        return
    if release.url:
        assert Requirement(pinned_line(Choice(release, (), (), ()))).name == "toy-envs"


def test_a_release_says_why_it_does_not_fit() -> None:
    """Python, gem-core and the wheel's tags are each looked at; gem-core also where only Requires-Dist names it."""
    assert read().misfit("3.11.0", "0.1.3") == ""
    assert "needs Python" in read().misfit("3.9.0", "0.1.3")
    assert "needs gem-core" in read().misfit("3.11.0", "0.2.0")
    assert "needs gem-core" in read(requires_gem_core="").misfit("3.11.0", "0.2.0")
    other = "toy_envs-0.1.0-cp27-cp27m-win32.whl"
    assert "built for another" in read(filename=other, url=f"../../files/ab/{SHA}/{other}").misfit("3.11.0", "0.1.0")


def lay(folder: Path, origin: object) -> None:
    """Lay out an installed distribution."""
    info = folder / "toy_envs-0.1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Toy_Envs\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ({"url": "https://a.example/x.whl", "archive_info": {"hashes": {"sha256": SHA}}}, True),
        ({"url": "https://a.example/x.whl", "archive_info": {"hash": f"sha256={SHA}"}}, True),
        ({"url": f"file:///x.whl#sha256={SHA}", "archive_info": {}}, True),
        ({"url": f"https://hub.example/{FILE}", "archive_info": {}}, True),
        ({"url": f"https://hub.example/{FILE}", "archive_info": {"hashes": {"sha256": "cd" * 32}}}, False),
        ({"url": "https://a.example/x.whl", "archive_info": {}}, None),
        ({"url": "file:///toys", "dir_info": {"editable": True}}, None),
        ({}, None),
        ([], None),
        ({"url": None, "archive_info": {"hashes": 3}}, None),
    ],
)
def test_the_origin_of_a_package_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: object, is_ours: bool | None
) -> None:
    """Every way in which an installer writes down a digest is understood, and nonsense counts as not known."""
    monkeypatch.syspath_prepend(str(tmp_path))
    lay(tmp_path, origin)
    found = installed_package("toy-envs")
    assert isinstance(found, InstalledPackage)
    assert (found.name, found.version) == ("toy-envs", "0.1.0")
    assert found.is_file(f"https://hub.example/{FILE}", SHA) is is_ours
    assert found.folder == (isinstance(origin, dict) and "dir_info" in origin)


def test_a_missing_package_is_none() -> None:
    """What is not installed is None."""
    assert installed_package("surely-not-installed") is None


def fake(name: str, version: str) -> Installer:
    """Return an installer that can only say its version."""
    return Installer(name, (sys.executable, "-c", f"print('{name} {version} from /somewhere')"))


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        ([("pip", "26.3"), ("uv", "0.13.8")], "pip"),
        ([("pip", "25.1")], "pip"),
        ([("pip", "25.0.1"), ("uv", "0.6.15")], "uv"),
        ([("pip", "23.2.1"), ("uv", "0.6.14")], None),
        ([], None),
    ],
)
def test_an_installer_that_can_lock_is_found(
    monkeypatch: pytest.MonkeyPatch, there: list[tuple[str, str]], taken: str | None
) -> None:
    """It is pip from 25.1 or uv from 0.6.15; without them the error says what there is and what is needed."""
    monkeypatch.setattr(installer, "_installers", lambda: iter([fake(*item) for item in there]))
    if taken is not None:
        assert find_locker().name == taken
        return
    with pytest.raises(HubError, match=r"pip>=25\.1") as caught:
        find_locker()
    for name, version in there:
        assert f"{name} {version} cannot" in str(caught.value)


def test_no_installer_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pip and uv the error names the command that brings pip."""
    monkeypatch.setattr(installer, "find_spec", lambda name: None)
    monkeypatch.setattr(installer, "which", lambda name: None)
    with pytest.raises(HubError, match="-m ensurepip"):
        find_installer()


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("pylock.toml", True),
        ("pylock.training.toml", True),
        ("lock.toml", False),
        ("pylock.a.b.toml", False),
        ("pylock.toml.bak", False),
        ("pylock..toml", False),
    ],
)
def test_lock_files_have_their_name(name: str, taken: bool) -> None:
    """Only names that PEP 751 allows are written."""
    if taken:
        check_name(Path("folder", name))
        return
    with pytest.raises(HubError, match=r"pylock\.NAME\.toml"):
        check_name(Path("folder", name))


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/html", "html"),
        ("Text/HTML; charset=utf-8", "html"),
        ("application/vnd.pypi.simple.v1+html", "html"),
        ("application/vnd.pypi.simple.v1+json; charset=utf-8", "json"),
        ("application/json", ""),
        ("application/octet-stream", ""),
        ("", ""),
    ],
)
def test_installers_go_by_the_content_type(content_type: str, kind: str) -> None:
    """The types that pip and uv take are told from those that they refuse."""
    assert kind_of(content_type) == kind


@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_any_page_is_read_or_refused(content: bytes) -> None:
    """Reading a page returns it or raises ValueError, whatever it holds."""
    for read_page in (read_html, read_json):
        try:
            read_page(content)
        except ValueError:
            continue
