"""The splits of a folder and their files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from gem.errors import DatasetError
from gem_questions.formats import stem_of, suffix_of

__all__ = ["ALIASES", "files_of_split", "known_split", "splits_of_folder"]

ALIASES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""Split → the words in the names of files and folders that stand for it, as in the library ``datasets``."""

_WORDS = {word: split for split, words in ALIASES.items() for word in words}
_SHARD = re.compile(r"^(?P<split>.+?)-(?P<number>\d{5})-of-(?P<count>\d{5})(?:-[0-9a-f]+)?$")
_SAYS_NOTHING = re.compile(r"^(?:part|data|default|dataset|shard|chunk)?[-_.]?\d*$")


def splits_of_folder(folder: Path) -> dict[str, list[Path]]:
    """Return the splits of a folder, each with its files in order.

    It knows three layouts: Hugging Face's (``data/train-00000-of-00002.parquet``), plain files (``train.jsonl``,
    ``test/part-0.csv``, ``aime24.jsonl``), and that of ``save_to_disk`` of the library ``datasets``. A file whose name
    contains no split, such as ``data.jsonl`` or ``part-0.csv``, belongs to the split named by its folder, and at the
    top to ``train``.

    Raises:
        DatasetError: if the folder has no file of a known format, one of several shards is missing, or several of its
            folders have the same split.
    """
    saved = folder / "dataset_dict.json"
    if saved.is_file():
        names = json.loads(saved.read_bytes())["splits"]
        return {name: _saved_files(folder / name) for name in names}
    if (folder / "state.json").is_file():
        return {"train": _saved_files(folder)}
    found: dict[str, list[Path]] = {}
    for path in sorted(_data_files(folder)):
        found.setdefault(_split_of(path.relative_to(folder)) or "train", []).append(path)
    if not found:
        raise DatasetError(f"the folder {folder} holds no data set: no .parquet, .jsonl, .arrow, .csv or .json file")
    for split, paths in found.items():
        folders = sorted({path.parent for path in paths})
        if len(folders) > 1:
            named = ", ".join(str(inner.relative_to(folder)) for inner in folders)
            raise DatasetError(f"{folder} holds several sets with a split {split!r}: open one of the folders {named}")
        _check_shards(split, paths)
    return found


def files_of_split(splits: dict[str, list[Path]], split: str, where: object) -> list[Path]:
    """Return the files of a split; DatasetError with the known splits if it is missing."""
    return splits[known_split(split, splits, where)]


def known_split(split: str, splits: Iterable[str], where: object) -> str:
    """Return the split's own name, also for a synonym; DatasetError if it is missing."""
    known = list(splits)
    if split in known:
        return split
    meant = [name for name in known if _WORDS.get(name, name) == _WORDS.get(split, split)]
    if len(meant) == 1:
        return meant[0]
    raise DatasetError(f"{where} has no split {split!r}; it has {', '.join(map(repr, known)) or 'none'}")


def _data_files(folder: Path) -> Iterable[Path]:
    for path in folder.rglob("*"):
        inner = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "_")) for part in inner)
        if not hidden and suffix_of(path) is not None and path.is_file() and not _describes(path):
            yield path


def _describes(path: Path) -> bool:
    """Return whether a JSON file describes a data set instead of being one."""
    return path.name in ("dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json", "metadata.json")


def _split_of(path: Path) -> str | None:
    """Return the split in a file's name, or else in the names of its folders, or None."""
    shard = _SHARD.match(stem_of(path))
    for name in (shard["split"] if shard else stem_of(path), *reversed(path.parts[:-1])):
        if not _SAYS_NOTHING.match(name):
            return next((_WORDS[word] for word in re.split(r"[\W_]+", name.lower()) if word in _WORDS), name)
    return None


def _check_shards(split: str, paths: list[Path]) -> None:
    """Raise DatasetError if some shards of a split are missing."""
    shards = [match for path in paths if (match := _SHARD.match(stem_of(path)))]
    if len(shards) == len(paths) and len(shards) < (count := int(shards[0]["count"])):
        there = {int(shard["number"]) for shard in shards}
        missing = next(number for number in range(count) if number not in there)
        raise DatasetError(
            f"the split {split!r} has {len(shards)} of its {count} files in {paths[0].parent}; "
            f"{missing:05}-of-{count:05} is missing"
        )


def _saved_files(folder: Path) -> list[Path]:
    """Return the files of a split that ``save_to_disk`` wrote."""
    try:
        state = json.loads((folder / "state.json").read_bytes())
        files = [folder / entry["filename"] for entry in state["_data_files"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DatasetError(f"{folder} is not what save_to_disk writes: {error!r}") from error
    missing = next((path for path in files if not path.is_file()), None)
    if missing is not None:
        raise DatasetError(f"{missing} is missing, which {folder / 'state.json'} names")
    return files
