"""The results that a hub lists on a package, each proved by the package's verified page.

The page names the SHA-256 of each result's file, and the catalogue that of the page; so a mirror that alters a result,
leaves one out or shows a withdrawn one is refused like one that alters the page. The publisher's signature is verified
besides: not even the hub can have made a result up in the name of a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.ids import base_id, parse_id
from gem_hub_client.pages import VerifiedPage
from gem_hub_client.results.envelope import open_envelope
from gem_hub_client.results.packed_episodes import MOST_EPISODE_BYTES, MOST_PACKED_BYTES, unpacked
from gem_hub_client.results.record import ResultRecord, result_id
from gem_hub_client.sanitize import sanitize

__all__ = ["EVENT_LIMIT", "HubResult", "read_episodes", "read_results"]

EVENT_LIMIT = 2_000_000
"""Bytes of a result's file."""
_STATES = ("admitted", "unreviewed", "withdrawn")


@dataclass(frozen=True)
class HubResult:
    """A result as a hub lists it, its signature verified."""

    hub: Hub
    id: str
    record: ResultRecord
    state: str
    """``admitted``, ``unreviewed`` or ``withdrawn``."""
    by: str
    """Who admitted or withdrew it."""
    reason: str
    episodes_path: str
    """Where the hub has the lines of its episodes; empty if it does not."""


def read_results(found: VerifiedPage, environment: str = "") -> Iterator[HubResult]:
    """Yield the results on a package, or on one of its environments; an id without a variant has those of its variants.

    Raises:
        TrustError: if a result is not the one that the page promises, or its signature is wrong.
        HubError: if one cannot be read.
    """
    for entry in found.page.get("results", ()):
        if not environment or environment in (entry["environment"], _without_variant(entry["environment"])):
            yield _read(found, entry)


def read_episodes(result: HubResult) -> bytes | None:
    """Return the lines of a result's episodes, which prove nothing before they are compared; None if nowhere.

    Raises:
        HubError: if they cannot be read, or are too large.
    """
    if result.episodes_path:
        path = f"episodes/{result.record.raw_sha256[:2]}/{result.record.raw_sha256}.jsonl.gz"
        packed = result.hub.source.read(path, MOST_PACKED_BYTES).content or b""
        try:
            raw = unpacked(packed)
        except ValueError as error:
            raise HubError(f"{result.hub.name}: {path} is no gzip: {error}") from error
        if len(raw) > MOST_EPISODE_BYTES:
            raise HubError(f"{result.hub.name}: {path} has over {MOST_EPISODE_BYTES:,} bytes")
        return raw
    if result.record.raw_url:
        from gem_hub_client.transport import WebSource

        address, _, file_name = result.record.raw_url.rpartition("/")
        return WebSource(f"{address}/").read(file_name, MOST_EPISODE_BYTES).content
    return None


def _without_variant(environment: str) -> str:
    return base_id(environment) if parse_id(environment).version is not None else environment


def _read(found: VerifiedPage, entry: dict[str, Any]) -> HubResult:
    hub, name = found.hub, found.record["name"]
    label = f"{hub.name}: the result {sanitize(str(entry.get('id')))[:40]} of {name}"
    try:
        path, digest = entry["path"], entry["sha256"]
        if re.fullmatch(rf"(events/{name}/\d{{8,12}}-result|results/{name}/[0-9a-f]{{16}})\.json", path) is None:
            raise ValueError(f"it lies at {path!r:.80}")
        content = _content(hub, path, digest)
        if sha256(content).hexdigest() != digest:
            raise TrustError(f"{label} is not what the package's page promises; it was not used")
        event = json.loads(content)
        record, payload = open_envelope(event["envelope"])
        told = (event["name"], event["version"], event["by"], result_id(payload), record.environment)
        listed = (name, entry["version"], record.publisher, entry["id"], entry["environment"])
        if told != listed or (record.package, record.version) != listed[:2] or entry["state"] not in _STATES:
            raise ValueError("it is about something else than the page says")
        release = next((one for one in found.page["releases"] if one["version"] == record.version), None)
        if release is None or release["sha256"] != record.wheel:
            raise ValueError("it is about another wheel than the release")
    except TrustError:
        raise
    except HubError as error:
        raise type(error)(f"{label}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TrustError(f"{label} cannot be used: {sanitize(str(error))[:200]}") from error
    texts = {key: str(entry.get(key) or "") for key in ("state", "by", "reason", "episodes_path")}
    return HubResult(hub, entry["id"], record, **texts)


def _content(hub: Hub, path: str, digest: str) -> bytes:
    """Return a result's file; what was read before need not be asked for again, because it never changes."""
    kept = hub.cache / "results" / f"{digest}.json" if re.fullmatch(r"[0-9a-f]{64}", digest) else None
    if hub.remote and kept is not None:
        with suppress(OSError):
            content = kept.read_bytes()
            if sha256(content).hexdigest() == digest:
                return content
    content = hub.source.read(path, EVENT_LIMIT).content or b""
    if hub.remote and kept is not None and sha256(content).hexdigest() == digest:
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_whole(kept, content.decode("utf-8", "replace"))
    return content
