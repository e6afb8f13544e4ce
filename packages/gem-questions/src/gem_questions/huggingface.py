"""Data sets by their name at Hugging Face: a copy on this machine, or a download.

``owner/name`` is looked up in this order. Only the last step needs a network or the library ``datasets``:

1. the folder ``owner/name`` below the folder in the environment variable ``GEM_DATA_DIR``;
2. earlier downloads (of ``gem data pull``, or of any program that uses Hugging Face's libraries);
3. data sets that the library ``datasets`` prepared before;
4. Hugging Face's server, if it answers within a few seconds.

Hugging Face's own variables hold: ``HF_HUB_OFFLINE``, ``HF_ENDPOINT``, ``HF_HOME``, ``HF_HUB_CACHE``,
``HF_DATASETS_CACHE``, ``HF_TOKEN``.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem.errors import DatasetError
from gem_questions.files import open_files, open_local, stream_local
from gem_questions.formats import SUFFIXES
from gem_questions.shared import expanded
from gem_questions.splits import splits_of_folder
from gem_questions.stream import LibraryShard, RowStream
from gem_questions.tables import Rows

__all__ = ["endpoint", "is_dataset_name", "local_copy", "offline", "open_by_name", "unreachable"]

SECONDS = 4.0
"""Time limit for a connection to Hugging Face's server, name look-up included."""

_NAME = re.compile(r"[\w-][\w.-]*(?:/[\w.-]+)?", re.ASCII)
_TRUE = frozenset(("1", "on", "yes", "true"))


def open_by_name(name: str, split: str, streaming: bool = False) -> Rows | RowStream:
    """Return a split of a data set, given the data set's name at Hugging Face.

    Raises:
        DatasetError: if the data set is unavailable; the message names the ways that need no network.
    """
    _check_name(name)
    folder, lacking = local_copy(name), None
    if folder is not None:
        try:
            return stream_local(folder, split) if streaming else open_local(folder, split)
        except DatasetError as error:
            if _cache("HF_HUB_CACHE", "hub") not in folder.parents:
                raise
            # The download was incomplete; the server may have the missing split.
            lacking = error
    prepared = _prepared_files(name, split)
    if prepared:
        return open_files(prepared, split)
    reason = offline() or unreachable()
    if reason is not None:
        if lacking is not None:
            raise lacking
        raise DatasetError(
            f"the data set {name!r} is not on this machine, and {reason}; run 'gem data pull {name}' where there is a "
            f"network, or pass dataset=PATH to a copy of it, or put a copy into the folder {name} of a folder that the "
            "environment variable GEM_DATA_DIR names"
        )
    if streaming:
        return RowStream([LibraryShard(_loaded(name, split, streaming=True))])
    rows: Rows = _loaded(name, split)
    return rows


def is_dataset_name(text: str) -> bool:
    """Return whether a text has the form of a data set's name, ``owner/name`` or ``name``."""
    return _NAME.fullmatch(text) is not None and not text.lower().endswith(SUFFIXES)


def local_copy(name: str) -> Path | None:
    """Return the folder that holds the files of a data set on this machine, or None.

    This is the folder in ``GEM_DATA_DIR``, or the one in Hugging Face's cache.
    """
    mirror = os.environ.get("GEM_DATA_DIR")
    if mirror and (folder := expanded(mirror) / name).is_dir():
        return folder
    repository = _cache("HF_HUB_CACHE", "hub") / f"datasets--{name.replace('/', '--')}"
    try:
        revision = (repository / "refs" / "main").read_text(encoding="ascii").strip()
        snapshot = repository / "snapshots" / revision
        splits_of_folder(snapshot)
    except (OSError, ValueError, DatasetError):
        # Missing, or in files that only the library can read.
        return None
    return snapshot


def offline() -> str | None:
    """Return the reason not to use the network; None if there is none."""
    for variable in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        if os.environ.get(variable, "").strip().lower() in _TRUE:
            return f"{variable} is set"
    return None


def endpoint() -> str:
    """Return the URL of Hugging Face's server."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def unreachable() -> str | None:
    """Return the reason why Hugging Face's server cannot be reached; None if it accepts a connection.

    Hugging Face's libraries try for half a minute, and ``getaddrinfo`` has no time limit at all. This function
    connects in a thread and waits at most :data:`SECONDS`.
    """
    url = urllib.parse.urlsplit(endpoint())
    proxy = urllib.request.getproxies().get(url.scheme)
    if proxy and not urllib.request.proxy_bypass(url.hostname or ""):
        url = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    port = url.port or (80 if url.scheme == "http" else 443)
    answer: list[str | None] = [f"the Hugging Face server ({endpoint()}) does not answer"]

    def connect() -> None:
        try:
            socket.create_connection((url.hostname or "", port), timeout=SECONDS).close()
            answer[0] = None
        except OSError as error:
            answer[0] = f"the Hugging Face server ({endpoint()}) cannot be reached ({error})"

    thread = threading.Thread(target=connect, name="gem-huggingface-reachable", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return answer[0]


def _check_name(name: str) -> None:
    if is_dataset_name(name):
        return
    raise DatasetError(
        f"there is no file or folder {name!r} (working directory: {Path.cwd()}), and it is no data set's name "
        "at Hugging Face either, which has the form owner/name"
    )


def _cache(variable: str, folder: str) -> Path:
    """Return a cache folder of Hugging Face's libraries, set by its own variable, HF_HOME or XDG_CACHE_HOME."""
    own = os.environ.get(variable)
    if own:
        return expanded(own)
    home = os.environ.get("HF_HOME")
    if home:
        return expanded(home) / folder
    return expanded(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / folder


def _prepared_files(name: str, split: str) -> list[Path]:
    """Return the Arrow files of a split that the library ``datasets`` prepared; none unless one version exists."""
    wanted = _plain(name.replace("/", "___"))
    found = []
    for folder in _subfolders(_cache("HF_DATASETS_CACHE", "datasets")):
        if _plain(folder.name) == wanted:
            # CONFIGURATION/VERSION/DIGEST
            found += [path.parent for path in folder.glob("*/*/*/dataset_info.json")]
    if len(found) != 1:
        return []
    shards = sorted(found[0].glob(f"*-{split}-?????-of-?????.arrow"))
    if shards and len(shards) == int(shards[0].stem[-5:]):
        return shards
    whole = list(found[0].glob(f"*-{split}.arrow"))
    return whole if len(whole) == 1 else []


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _subfolders(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return


def _loaded(name: str, split: str, **options: Any) -> Any:
    """Load with the library ``datasets``, which downloads missing files."""
    try:
        import datasets
    except ImportError as error:
        raise DatasetError(
            f"fetching {name!r} from Hugging Face needs datasets; run: pip install 'gem-questions[datasets]'"
        ) from error
    try:
        return datasets.load_dataset(name, split=split, **options)
    except Exception as error:  # the errors of several libraries
        reason = " ".join(str(error).split())[:300]
        raise DatasetError(
            f"the data set {name!r} cannot be loaded from Hugging Face ({endpoint()}): {reason}"
        ) from error
