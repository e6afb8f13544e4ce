"""The upload of one wheel in the protocol that ``twine``, ``uv`` and ``hatch`` speak, streamed from the disk."""

from __future__ import annotations

import hashlib
import secrets
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from gem_hub_client.errors import HubError
from gem_hub_client.registry.client import RegistryClient

__all__ = ["UPLOAD_PATH", "LocalWheel", "read_wheel", "upload"]

UPLOAD_PATH = "upload/"
"""The path of uploads below a registry's address."""
_BLOCK = 1 << 16
_LARGEST_METADATA = 1 << 20


@dataclass(frozen=True)
class LocalWheel:
    """A wheel on this machine."""

    path: Path
    name: str
    """The distribution, in the spelling of the index."""
    version: str
    fields: tuple[tuple[str, str], ...]
    """The fields of the form that describe it."""
    size: int
    """Its bytes."""


def read_wheel(path: Path) -> LocalWheel:
    """Return what an upload says of a wheel; the registry reads the wheel itself and believes nothing of this.

    Raises:
        HubError: if it is no wheel.
    """
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    if path.suffix != ".whl":
        raise HubError(f"{path}: is no wheel, and a hub has nothing else; build one: hatch build -t wheel")
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
        with path.open("rb") as file:
            sha256 = hashlib.sha256()
            blake2 = hashlib.blake2b(digest_size=32)
            size = 0
            while block := file.read(_BLOCK):
                sha256.update(block)
                blake2.update(block)
                size += len(block)
            metadata = _metadata(file)
    except InvalidWheelFilename as error:
        raise HubError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise HubError(f"{path}: there is no such file; build it: hatch build -t wheel") from error
    except (OSError, ValueError, LookupError, RuntimeError, zipfile.BadZipFile) as error:
        raise HubError(f"{path}: cannot be read as a wheel: {getattr(error, 'strerror', None) or error}") from error
    fields = (
        (":action", "file_upload"),
        ("protocol_version", "1"),
        ("metadata_version", str(metadata["Metadata-Version"])),
        ("name", str(metadata["Name"])),
        ("version", str(metadata["Version"])),
        ("filetype", "bdist_wheel"),
        ("pyversion", path.name.split("-")[-3]),
        ("sha256_digest", sha256.hexdigest()),
        ("blake2_256_digest", blake2.hexdigest()),
        ("summary", " ".join(str(metadata["Summary"] or "").split())),
    )
    return LocalWheel(path, str(name), str(version), fields, size)


def _metadata(file: Any) -> Any:
    with zipfile.ZipFile(file) as archive:
        (member,) = (
            one
            for one in archive.infolist()
            if one.filename.count("/") == 1 and one.filename.endswith(".dist-info/METADATA")
        )
        if member.file_size > _LARGEST_METADATA:
            raise ValueError("METADATA is larger than a megabyte")
        return HeaderParser().parsestr(archive.read(member).decode("utf-8"))


def upload(
    registry: RegistryClient, wheel: LocalWheel, progress: Callable[[int], None] = lambda length: None
) -> dict[str, Any]:
    """Upload a wheel; return the registry's answer: name, version, sha256, state and conformance.

    ``progress`` gets the length of each block of the wheel that was sent.

    Raises:
        RegistryRefusal: if the registry refuses it.
        HubError: if the registry cannot be reached, or the file cannot be read.
    """
    boundary = f"gem-{secrets.token_hex(16)}"
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in wheel.fields
    )
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="content"; filename="{wheel.path.name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    first, last = head.encode(), f"\r\n--{boundary}--\r\n".encode()

    def body() -> Iterator[bytes]:
        yield first
        left = wheel.size
        with wheel.path.open("rb") as file:
            while left and (block := file.read(min(left, _BLOCK))):
                yield block
                left -= len(block)
                progress(len(block))
        if left:
            raise OSError(f"{wheel.path} has shrunk during the upload")
        yield last

    length = len(first) + wheel.size + len(last)
    answer = registry.upload(UPLOAD_PATH, f"multipart/form-data; boundary={boundary}", body(), length)
    if not isinstance(answer, dict):
        raise HubError(f"{registry.address}: does not answer an upload as a registry does")
    return answer
