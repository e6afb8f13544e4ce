"""Wheels, records and hubs for the tests of the registry: small, real, and the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from packaging.requirements import Requirement

from gem.discovery.manifest import read_specs
from gem_hub.records import CoreMetadata, Environment, Release, environments_of, host_url
from gem_hub.storage import PRIVATE, HubFiles, files_of
from gem_hub.store import Store

MOMENT = "2026-01-31T12:00:00Z"
PUBLISHER = "someone"


def make_wheel(
    folder: Path,
    name: str = "toy-envs",
    version: str = "0.1.0",
    ids: Iterable[str] = ("toy:Thing-v0",),
    *,
    metadata: Iterable[str] = ("Requires-Dist: gem-core<0.2,>=0.1", "Requires-Python: >=3.10"),
    readme: str = "A readme.",
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel of an environment package, which ``files`` (path → text) add to.

    Args:
        folder: where to write it; made if it does not exist.
        name: of the distribution; its import name is the same with underscores.
        version: of the distribution.
        ids: of its environments; each has a variant ``easy``.
        metadata: more header lines of ``METADATA``.
        readme: its description.
        files: what else it holds, or in place of its entry points.
    """
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    tables = [
        f'[[environment]]\nid = "{full_id}"\nentry_point = "{package}:Thing"\ndescription = "A thing to find."\n'
        'tags = ["toy"]\n[environment.variants]\neasy = { size = 2 }\n'
        for full_id in ids
    ]
    namespaces = sorted({full_id.partition(":")[0] for full_id in ids})
    headers = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", "Summary: Toys", *metadata]
    texts = {
        f"{package}/__init__.py": f"import gem\n\nVERSION = {version!r}\n\n\nclass Thing(gem.Env):\n    pass\n",
        f"{package}/environments.toml": "schema = 1\n" + "".join(tables),
        f"{info}/entry_points.txt": "[gem.envs]\n" + "".join(f"{space} = {package}\n" for space in namespaces),
        **(files or {}),
        f"{info}/METADATA": "\n".join(headers) + f"\nDescription-Content-Type: text/markdown\n\n{readme}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{path},{_record_hash(text)},{len(text.encode())}" for path, text in texts.items()]
    texts[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, text in texts.items():
            archive.writestr(zipfile.ZipInfo(entry, (2026, 1, 1, 0, 0, 0)), text)
    return path


def read_wheel(wheel: Path, publisher: str = PUBLISHER, published: str = MOMENT) -> tuple[Release, bytes]:
    """Return the record of a wheel that is to be hosted, and its metadata; what it needs of toys comes from the hub."""
    with zipfile.ZipFile(wheel) as archive:
        (info,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        (manifest,) = (name for name in archive.namelist() if name.endswith("/environments.toml"))
        metadata = archive.read(info)
        extracted = Path(archive.extract(manifest, wheel.parent / f"{wheel.stem}.extracted"))
    fields = CoreMetadata.from_bytes(metadata)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    release = Release(
        name=fields.name,
        version=fields.version,
        filename=wheel.name,
        url=host_url(sha256, wheel.name),
        sha256=sha256,
        size=wheel.stat().st_size,
        metadata_sha256=hashlib.sha256(metadata).hexdigest(),
        published=published,
        publisher=publisher,
        mode="host",
        metadata=fields,
        environments=environments_of(read_specs(extracted)),
        hub_requires=[name for line in fields.requires_dist if (name := Requirement(line).name).startswith("toy-")],
    )
    return release, metadata


def synthetic_release(
    name: str, version: str, ids: Iterable[str] = (), *, mode: str = "link", publisher: str = PUBLISHER, salt: str = ""
) -> tuple[Release, bytes]:
    """Return a record that needs no wheel, and its metadata; ``salt`` makes it another file."""
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nSummary: Toys {salt}\n\nReadme.\n".encode()
    filename = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    environments = [
        Environment(id=full_id, entry_point="toys:Thing", description="A thing.", tags=["toy"]) for full_id in ids
    ]
    common = {
        "name": name,
        "version": version,
        "published": MOMENT,
        "publisher": publisher,
        "metadata": CoreMetadata.from_bytes(metadata),
        "environments": environments,
    }
    if mode == "source":
        return Release(mode="source", source=f"packages/{name}", **common), metadata
    file = {
        "filename": filename,
        "url": f"https://files.example/{filename}",
        "sha256": hashlib.sha256(f"{name} {version} {salt}".encode()).hexdigest(),
        "size": 1000,
        "metadata_sha256": hashlib.sha256(metadata).hexdigest(),
    }
    return Release(mode="link", **file, **common), metadata


def publish_wheel(store: Store, wheel: Path, publisher: str = PUBLISHER) -> str:
    """Publish a wheel in mode ``host``; return the outcome."""
    release, metadata = read_wheel(wheel, publisher)
    return store.publish(release, wheel, metadata).value


class Killed(BaseException):
    """Stands for a kill: no code of the hub handles it."""


def publish_and_die(hub: Path | HubFiles, wheel: Path) -> None:
    """Publish a wheel, and stop as a killed process does: the record is written, and what readers find it by is not."""
    store = Store(hub)

    def die(*_: object) -> None:
        raise Killed

    store._derive = die  # type: ignore[method-assign]
    with suppress(Killed):
        publish_wheel(store, wheel)
    assert store.rebuild(check=True)


def contents(hub: Path | HubFiles) -> dict[str, bytes]:
    """Return path → bytes of everything in a hub that is served and not superseded."""
    hub_files = files_of(hub)
    paths = sorted(path for path in hub_files.files("") if not path.startswith(f"{PRIVATE}/"))
    files = {path: content for path in paths if (content := hub_files.read(path)) is not None}
    root = files["root.json"].decode()
    return {path: content for path, content in files.items() if not path.startswith("catalog/") or path in root}


def _record_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
