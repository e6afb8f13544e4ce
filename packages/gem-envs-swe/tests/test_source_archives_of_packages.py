"""Source archives are found in indexes and unpacked, whoever made them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from small_package import NAME, write_archive

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import SourceArchive, fetch_archive, find_archive, metadata_of, unpack_archive


def index(folder: Path, *archives: Path, digest: str | None = None, requires: str = "") -> str:
    """Write an index with the archives of one package, the last of which needs some Python, and return its address."""
    page = folder / "simple" / "shelfmark"
    page.mkdir(parents=True)
    links = []
    for archive in archives:
        (page / archive.name).write_bytes(archive.read_bytes())
        needs = f'data-requires-python="{requires}"' if archive is archives[-1] and requires else ""
        href = f"{archive.name}#sha256={digest or SourceArchive.of(archive).sha256}"
        links.append(f'<a href="{href}" {needs}>{archive.name}</a>')
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    return (folder / "simple").as_uri()


def hostile(folder: Path, *members: tuple[str, bytes]) -> SourceArchive:
    """Write an archive of members: name and type; files are empty."""
    path = folder / "hostile-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, kind in ((f"{NAME}/PKG-INFO", tarfile.REGTYPE), *members):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member, io.BytesIO())
    return SourceArchive.of(path)


def test_the_newest_admitted_version_is_taken(tmp_path: Path) -> None:
    """Of several archives the newest that the requirement admits is downloaded, with the digest of its index."""
    archives = [write_archive(tmp_path, name=f"shelfmark-{version}") for version in ("1.2", "1.10", "2.0")]
    found = fetch_archive(Requirement("Shelfmark<2"), [index(tmp_path, *archives)], tmp_path / "got")
    assert found.path.name == "shelfmark-1.10.tar.gz"
    assert found.sha256 == SourceArchive.of(archives[1]).sha256


@pytest.mark.parametrize(
    ("requires", "python", "taken"),
    [
        ("&gt;=3.12", "3.11.2", "1.2"),
        ("&gt;=3.11", "3.11.2", "1.10"),
        ("&gt;=3.12", None, "1.10"),
        ("no versions", "3.11.2", "1.10"),
    ],
)
def test_archives_for_another_python_are_passed_over(
    requires: str, python: str | None, taken: str, tmp_path: Path
) -> None:
    """The newest is taken that runs on the image's Python, as its index says."""
    address = index(
        tmp_path, *(write_archive(tmp_path, name=f"shelfmark-{each}") for each in ("1.2", "1.10")), requires=requires
    )
    found = fetch_archive(Requirement("shelfmark"), [address], tmp_path / "got", python)
    assert found.path.name == f"shelfmark-{taken}.tar.gz"


def test_the_newest_is_taken_if_none_runs(tmp_path: Path) -> None:
    """What it needs is then said by its metadata."""
    address = index(tmp_path, write_archive(tmp_path), requires="&gt;=3.12")
    assert fetch_archive(Requirement("shelfmark"), [address], tmp_path / "got", "3.11.2").path.name == f"{NAME}.tar.gz"


def test_a_later_index_is_asked_where_the_first_has_no_such_package(tmp_path: Path) -> None:
    """An index without the package is passed over."""
    (tmp_path / "empty").mkdir()
    address = index(tmp_path, write_archive(tmp_path))
    found = fetch_archive(Requirement("shelfmark"), [(tmp_path / "empty").as_uri(), address], tmp_path / "got")
    assert found.path.name == f"{NAME}.tar.gz"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("shelfmark==3", "has no source archive .* for shelfmark==3; the newest are of 1.2"),
        ("another", "no index has a package 'another'"),
    ],
)
def test_what_no_index_has_is_named(wanted: str, why: str, tmp_path: Path) -> None:
    """The message says what is missing, and what there is."""
    with pytest.raises(SweError, match=why):
        fetch_archive(Requirement(wanted), [index(tmp_path, write_archive(tmp_path))], tmp_path / "got")


def test_another_content_than_the_index_states_is_refused(tmp_path: Path) -> None:
    """A download whose digest differs is removed."""
    address = index(tmp_path, write_archive(tmp_path), digest="0" * 64)
    with pytest.raises(SweError, match="its index states 0000"):
        fetch_archive(Requirement("shelfmark"), [address], tmp_path / "got")
    assert not list((tmp_path / "got").iterdir())


@pytest.mark.parametrize("wanted", ["no such thing", "missing.tar.gz", "-r x", "https://"])
def test_what_is_no_package_is_refused(wanted: str, tmp_path: Path) -> None:
    """What is neither a requirement nor a file has a clear error."""
    with pytest.raises(SweError):
        find_archive(wanted, tmp_path)


def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    """Its files lie in the one folder of the archive."""
    tree = unpack_archive(find_archive(str(write_archive(tmp_path)), tmp_path), tmp_path / "into")
    assert metadata_of(tree)["name"] == ["shelfmark"]
    assert (tree / "tests" / "test_marks.py").is_file()


@pytest.mark.parametrize("name", ["../outside", f"{NAME}/../../outside", "/outside"])
def test_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written beside the folder."""
    with pytest.raises(SweError, match="leads out"):
        unpack_archive(hostile(tmp_path, (name, tarfile.REGTYPE)), tmp_path / "into")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_left_out(kind: bytes, tmp_path: Path) -> None:
    """Only files and folders are made, and so no file is written through a link."""
    tree = unpack_archive(
        hostile(tmp_path, (f"{NAME}/thing", kind), (f"{NAME}/thing/below", tarfile.REGTYPE)), tmp_path
    )
    assert (tree / "thing").is_dir()
    assert not (tree / "thing").is_symlink()


def test_a_git_folder_is_left_out(tmp_path: Path) -> None:
    """An archive brings no configuration of git, which runs programs."""
    tree = unpack_archive(hostile(tmp_path, (f"{NAME}/.git/config", tarfile.REGTYPE)), tmp_path)
    assert not (tree / ".git").exists()


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b\x08\x00cut"])
def test_damaged_archives_are_refused(content: bytes, tmp_path: Path) -> None:
    """The error names the file."""
    path = tmp_path / "damaged.tar.gz"
    path.write_bytes(content)
    with pytest.raises(SweError, match=r"damaged\.tar\.gz"):
        unpack_archive(SourceArchive.of(path), tmp_path)
