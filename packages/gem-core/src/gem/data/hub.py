"""Data sets of the Hugging Face hub, on this machine or fetched now.

``owner/name`` is looked for in this order; only the last step needs a network, or the library ``datasets``:

1. the folder ``owner/name`` in the folder that the environment variable ``GEM_DATA_DIR`` names;
2. what was downloaded before (by ``gem data pull``, or by any program that uses the hub's own libraries);
3. what the library ``datasets`` prepared before;
4. the hub, if it answers within a few seconds.

The hub's own variables hold: ``HF_HUB_OFFLINE``, ``HF_ENDPOINT``, ``HF_HOME``, ``HF_HUB_CACHE``, ``HF_DATASETS_CACHE``,
``HF_TOKEN``.
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
from typing import TYPE_CHECKING, Any

from gem.data.formats import SUFFIXES
from gem.data.shared import expanded
from gem.data.splits import splits_of_folder
from gem.data.stream import LibraryShard, RowStream
from gem.errors import DatasetError

if TYPE_CHECKING:
    from gem.data.rows import Rows

__all__ = ["endpoint", "is_hub_name", "local_copy", "offline", "open_from_hub", "unreachable"]

SECONDS = 4.0
"""How long the hub may take to accept a connection, name look-up included."""

_NAME = re.compile(r"[\w-][\w.-]*(?:/[\w.-]+)?", re.ASCII)
_TRUE = frozenset(("1", "on", "yes", "true"))


def open_from_hub(name: str, split: str, streaming: bool = False) -> Rows | RowStream:
    """Return a split of a data set that goes by its name on the hub.

    Raises:
        DatasetError: if it cannot be had; the message says what can be done without a network.
    """
    from gem.data.rows import open_files, open_local, stream_local

    _check_name(name)
    folder, lacking = local_copy(name), None
    if folder is not None:
        try:
            return stream_local(folder, split) if streaming else open_local(folder, split)
        except DatasetError as error:
            if _cache("HF_HUB_CACHE", "hub") not in folder.parents:
                raise
            # Not everything was downloaded; perhaps the hub has what is wanted.
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


def is_hub_name(text: str) -> bool:
    """Whether a text can be the name of a data set on the hub, ``owner/name`` or ``name``."""
    return _NAME.fullmatch(text) is not None and not text.lower().endswith(SUFFIXES)


def local_copy(name: str) -> Path | None:
    """Return the folder in which the files of a data set lie on this machine, or None.

    That is the one in ``GEM_DATA_DIR``, or the hub's own cache.
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
        # Not there, or not in files that can be read directly: that is for the library.
        return None
    return snapshot


def offline() -> str | None:
    """Return why the hub is not to be asked; None if it may be."""
    for variable in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        if os.environ.get(variable, "").strip().lower() in _TRUE:
            return f"{variable} is set"
    return None


def endpoint() -> str:
    """Return where the hub is."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def unreachable() -> str | None:
    """Return why the hub cannot be reached; None if it accepts a connection.

    The hub's own libraries try for half a minute, and ``getaddrinfo`` has no time limit at all, so this asks in a
    thread and does not wait longer than :data:`SECONDS`.
    """
    url = urllib.parse.urlsplit(endpoint())
    proxy = urllib.request.getproxies().get(url.scheme)
    if proxy and not urllib.request.proxy_bypass(url.hostname or ""):
        url = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    port = url.port or (80 if url.scheme == "http" else 443)
    answer: list[str | None] = [f"the hub ({endpoint()}) does not answer"]

    def connect() -> None:
        try:
            socket.create_connection((url.hostname or "", port), timeout=SECONDS).close()
            answer[0] = None
        except OSError as error:
            answer[0] = f"the hub ({endpoint()}) cannot be reached ({error})"

    thread = threading.Thread(target=connect, name="gem-hub-reachable", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return answer[0]


def _check_name(name: str) -> None:
    if is_hub_name(name):
        return
    raise DatasetError(
        f"there is no file or folder {name!r} (working directory: {Path.cwd()}), and it is no name of a data set on "
        "the hub, which is owner/name"
    )


def _cache(variable: str, folder: str) -> Path:
    """A folder of the hub's libraries: where its own variable, or HF_HOME, or XDG_CACHE_HOME puts it."""
    own = os.environ.get(variable)
    if own:
        return expanded(own)
    home = os.environ.get("HF_HOME")
    if home:
        return expanded(home) / folder
    return expanded(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / folder


def _prepared_files(name: str, split: str) -> list[Path]:
    """The Arrow files of a split that the library ``datasets`` prepared; none if it did not, or in several versions."""
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
    """Load with the library ``datasets``, which downloads what is missing."""
    try:
        import datasets
    except ImportError as error:
        raise DatasetError(
            f"fetching {name!r} from the hub needs the library datasets; run: pip install 'gem-core[datasets]'"
        ) from error
    try:
        return datasets.load_dataset(name, split=split, **options)
    except Exception as error:  # its own classes, and those of all the libraries below it
        reason = " ".join(str(error).split())[:300]
        raise DatasetError(f"the data set {name!r} cannot be loaded from the hub ({endpoint()}): {reason}") from error
