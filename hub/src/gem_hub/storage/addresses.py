"""Opens the storage of a hub by its address."""

from __future__ import annotations

from pathlib import Path

from gem_hub.storage.files import HubFiles
from gem_hub.storage.folder import HubFolder
from gem_hub_client.errors import HubError

__all__ = ["is_bucket", "open_files"]


def is_bucket(address: str) -> bool:
    """Return whether an address is that of a bucket and not of a folder."""
    return address.startswith("s3://")


def open_files(address: str | Path) -> HubFiles:
    """Return the storage at an address: a folder, or ``s3://BUCKET/FOLDER`` of any S3 API.

    A bucket is probed with conditional writes first.

    Raises:
        HubError: if the address is that of something else, or if the bucket's service ignores conditions.
    """
    text = str(address)
    if is_bucket(text):
        from gem_hub.storage.bucket import HubBucket
        from gem_hub.storage.probe import probe

        bucket = HubBucket.open(text)
        probe(bucket)
        return bucket
    scheme, separator, _ = text.partition("://")
    if separator and scheme.isalnum():
        raise HubError(f"{text}: a hub is kept in a folder, or in a bucket with an address such as s3://bucket/hub")
    return HubFolder(Path(text))
