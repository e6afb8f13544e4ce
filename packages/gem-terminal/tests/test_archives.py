"""Archives that base images are made from: what they hold, how layers lie over each other, how they are unpacked."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_terminal.engines.archives import ArchiveContent, flatten, inspect_archive, unpack
from gem_terminal.engines.base import ProgressStage
from gem_terminal.errors import EngineError

NAME = "test/base:1"
Tree = Mapping[str, "bytes | str | None"]
"""Path → content, the target of a link (str; a hard link where it begins with =), or None for a folder."""


def layer(tree: Tree) -> bytes:
    """Return a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in tree.items():
            member = tarfile.TarInfo(path)
            member.mode = 0o755
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                member.type = tarfile.LNKTYPE if content.startswith("=") else tarfile.SYMTYPE
                member.linkname = content.removeprefix("=")
            else:
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


def saved(path: Path, *layers: bytes, oci: bool = False, tags: tuple[str, ...] = (NAME,), **config: object) -> Path:
    """Write an image as `docker save` does, or as tools for OCI layouts do."""
    blobs = [json.dumps({"config": config}).encode(), *(gzip.compress(data) if oci else data for data in layers)]
    names = [f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}" for blob in blobs]
    files: dict[str, bytes | str | None] = dict(zip(names, blobs, strict=True))
    if oci:
        described = [{"digest": name.removeprefix("blobs/").replace("/", ":")} for name in names]
        manifest = json.dumps({"config": described[0], "layers": described[1:]}).encode()
        digest = hashlib.sha256(manifest).hexdigest()
        files[f"blobs/sha256/{digest}"] = manifest
        files["oci-layout"] = b"{}"
        files["index.json"] = json.dumps({"manifests": [{"digest": f"sha256:{digest}"}]}).encode()
    else:
        files["manifest.json"] = json.dumps(
            [{"Config": names[0], "Layers": names[1:], "RepoTags": list(tags) or None}]
        ).encode()
    path.write_bytes(layer(files))
    return path


def seen_in(archive: Path, folder: Path) -> dict[str, bytes | str | None]:
    """Unpack what an archive makes, and return it as a tree."""
    folder.mkdir()
    with flatten(archive, inspect_archive(archive, NAME), None) as flat:
        unpack(flat, folder)
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else None
        if path.is_dir()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("oci", [False, True], ids=["docker save", "OCI layout"])
def test_layers_make_one_file_system(tmp_path: Path, oci: bool) -> None:
    """What a layer writes hides what is below it, what it removes is gone, and an opaque folder begins empty."""
    archive = saved(
        tmp_path / "image.tar",
        layer({"usr": None, "usr/a": b"1", "usr/b": b"1", "etc/x": b"1", "etc/y": b"1", "old/deep/file": b"1"}),
        layer({"usr/a": b"2", "usr/.wh.b": b"", "etc/.wh..wh..opq": b"", "etc/z": b"2", ".wh.old": b""}),
        layer({"usr/c": "a", "etc": None}),
        oci=oci,
    )
    assert seen_in(archive, tmp_path / "root") == {"etc": None, "etc/z": b"2", "usr": None, "usr/a": b"2", "usr/c": "a"}


def test_a_folder_gives_way_to_a_file_and_a_link_keeps_its_content(tmp_path: Path) -> None:
    """A path may change its kind; a hard link to what is hidden is a file with what it linked to."""
    archive = saved(
        tmp_path / "image.tar",
        layer(
            {"usr/lib/deep/file": b"1", "usr/first": b"shared", "usr/second": "=usr/first", "usr/third": "=usr/first"}
        ),
        layer({"usr/lib": b"now a file", "usr/first": b"new"}),
    )
    assert seen_in(archive, tmp_path / "root") == {
        "usr": None,
        "usr/first": b"new",
        "usr/lib": b"now a file",
        "usr/second": b"shared",
        "usr/third": b"shared",
    }


PARTS = st.sampled_from(["usr", "a", "b", "c"])
PATHS = st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: "/".join(["usr", *parts]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(PATHS, st.one_of(st.none(), st.binary(max_size=3), st.just("removed"))), max_size=4))
def test_layers_mean_what_applying_them_in_order_means(layers: list[dict[str, bytes | str | None]]) -> None:
    """Whatever the layers are, the result is that of writing and removing one after the other."""
    import tempfile

    expected: dict[str, bytes | None] = {"usr": None, "usr/x": b"0"}
    written: list[bytes] = [layer({"usr": None, "usr/x": b"0"})]
    for changes in layers:
        tree: dict[str, bytes | str | None] = {}
        for path, content in sorted(changes.items()):
            if any(changes.get(above) is not None for above in _above(path)):
                continue  # no layer has something in what it makes a file, or removes
            parent, _, name = path.rpartition("/")
            if content == "removed":
                if path in expected:
                    _forget(expected, path)
                    tree[f"{parent}/.wh.{name}"] = b""
                continue
            for above in _above(path):
                if expected.get(above, b"") is not None:
                    _forget(expected, above)
                    expected[above] = tree[above] = None
            if content is not None or expected.get(path, b"") is not None:
                _forget(expected, path)
            expected[path] = content if isinstance(content, bytes) else None
            tree[path] = expected[path]
        written.append(layer(tree))
    with tempfile.TemporaryDirectory() as scratch:
        archive = saved(Path(scratch) / "image.tar", *written)
        assert seen_in(archive, Path(scratch) / "root") == expected


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _forget(tree: dict[str, bytes | None], path: str) -> None:
    for known in [known for known in tree if known == path or known.startswith(f"{path}/")]:
        del tree[known]


def test_the_configuration_of_an_image_is_kept(tmp_path: Path) -> None:
    """Variables, working directory and user of an image are those of what is built on it."""
    archive = saved(tmp_path / "a.tar", layer({"usr/x": b""}), Env=["A=b=c", "D="], WorkingDir="/w", User="me:us")
    content = inspect_archive(archive, NAME)
    assert (content.environment, content.workdir, content.user) == ({"A": "b=c", "D": ""}, "/w", "me")
    assert content.changes == ['ENV A="b=c"', 'ENV D=""', "WORKDIR /w", "USER me"]


def test_a_root_file_system_is_taken_as_it_is(tmp_path: Path) -> None:
    """Packed or not, with or without ./ before its names; modes that unpacking usually loses are kept."""
    root = tmp_path / "root.tar.gz"
    with tarfile.open(root, "w:gz") as archive:
        for path, mode in {"./tmp": 0o1777, "./usr/bin": 0o755, "./usr/bin/su": 0o4755}.items():
            member = tarfile.TarInfo(path)
            member.type, member.mode = tarfile.REGTYPE if path.endswith("su") else tarfile.DIRTYPE, mode
            archive.addfile(member)
    assert inspect_archive(root, NAME) == ArchiveContent()
    with flatten(root, ArchiveContent(), None) as same:
        assert same == root
    unpack(root, tmp_path / "into")
    assert stat.S_IMODE((tmp_path / "into/tmp").stat().st_mode) == 0o1777
    assert stat.S_IMODE((tmp_path / "into/usr/bin/su").stat().st_mode) == 0o4755


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    """An archive that reaches out of its folder is refused, by name and through a link; devices are left out."""
    (tmp_path / "through").mkdir()
    for case, tree in {"up": {"usr/../../out": b"x"}, "link": {"usr/l": "../../through", "usr/l/out": b"x"}}.items():
        archive = tmp_path / f"{case}.tar"
        archive.write_bytes(layer(tree))
        with pytest.raises(EngineError, match="cannot be read"):
            unpack(archive, tmp_path / case)
    assert not list(tmp_path.rglob("out"))
    device = tarfile.TarInfo("usr/null")
    device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 3
    with tarfile.open(tmp_path / "device.tar", "w") as archived:
        archived.addfile(device)
    unpack(tmp_path / "device.tar", tmp_path / "devices")
    assert not list((tmp_path / "devices").rglob("null"))


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    """The message names the file and says what is wrong with it."""
    cases = {
        "no archive": (b"PK\x03\x04 something else", "cannot be read as a tar archive"),
        "empty": (b"", "cannot be read as a tar archive"),
        "other files": (layer({"home/me/notes": b"x"}), "no bin and no usr folder"),
        "bad manifest": (layer({"manifest.json": b"[{}]"}), "no readable image"),
        "no JSON": (layer({"manifest.json": b"["}), "no readable image"),
        "a list": (layer({"index.json": b"[]"}), "no readable image"),
        "several": (layer({"manifest.json": b'[{"RepoTags": ["a:1"]}, {"RepoTags": null}]'}), "holds 2 images"),
        "missing layer": (
            layer({"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": b"{}"}),
            "no readable image",
        ),
    }
    for name, (data, message) in cases.items():
        path = tmp_path / f"{name}.tar"
        path.write_bytes(data)
        with pytest.raises(EngineError, match=message) as raised:
            inspect_archive(path, NAME)
        assert str(path) in str(raised.value)
    with pytest.raises(EngineError, match="cannot be read"):
        inspect_archive(tmp_path / "not there.tar", NAME)


def test_a_layer_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A compression that Python does not know is an error that says which there are."""
    archive = saved(tmp_path / "image.tar", b"\x28\xb5\x2f\xfd zstandard")
    with (
        pytest.raises(EngineError, match="gzip, bzip2 or xz"),
        flatten(archive, inspect_archive(archive, NAME), None),
    ):
        pass


def test_an_image_among_several_is_found_by_its_name(tmp_path: Path) -> None:
    """What `docker save a b` wrote serves for either."""
    images = [{"RepoTags": [tag], "Config": "c", "Layers": [tag[0]]} for tag in ("a:1", "b:1")]
    archive = tmp_path / "both.tar"
    archive.write_bytes(layer({"manifest.json": json.dumps(images).encode(), "c": b"{}", "a": b"", "b": b""}))
    assert inspect_archive(archive, "b:1").layers == ("b",)


def test_how_far_it_is_can_be_told(tmp_path: Path) -> None:
    """Each layer is a stage; and nothing is left in the folder for temporary files."""
    told: list[ProgressStage] = []
    archive = saved(tmp_path / "image.tar", *(layer({"usr/x": b""}) for _ in range(3)))
    with flatten(archive, inspect_archive(archive, NAME), told.append) as flat:
        assert flat.is_file()
    assert not flat.parent.exists()
    assert [(stage.done, stage.total) for stage in told] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.skipif(os.getuid() != 0, reason="owners can only be given by root")
def test_owners_are_numbers(tmp_path: Path) -> None:
    """Whoever a number belongs to on this machine, it stays what the image says."""
    member = tarfile.TarInfo("usr/x")
    member.uid, member.gid, member.uname, member.gname = 1234, 4321, "root", "root"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(member)
    unpack(tmp_path / "a.tar", tmp_path / "into")
    status = (tmp_path / "into/usr/x").stat()
    assert (status.st_uid, status.st_gid) == (1234, 4321)
