"""Writes the log of a hub: see :mod:`gem_hub_client.trust.log` for what it is and how clients check it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gem_hub.storage import HubFiles
from gem_hub.truth import Truth
from gem_hub_client.errors import HubError
from gem_hub_client.trust.log import (
    CHECKPOINT,
    HASH_SIZE,
    TILE_HEIGHT,
    WIDTH,
    checkpoint_text,
    parse_checkpoint,
    tile_path,
)
from gem_hub_client.trust.merkle import Edge, appended, block_hash, leaf_hash, tree_hash

__all__ = ["continue_log"]


def continue_log(files: HubFiles, restarts: int, serial: int, newest: bytes | None = None) -> bytes:
    """Append the records and events of a hub that its log does not have yet; return the checkpoint.

    Args:
        files: the hub.
        restarts: how often the log was begun anew; see :class:`gem_hub_client.trust.metadata.TrustedRoot`.
        serial: the hub's; a log of as many entries has them all.
        newest: the file of the newest record or event, if that is the only one that is new.

    Raises:
        HubError: if the hub has fewer records than the log, which cannot shrink.
    """
    before = files.read(CHECKPOINT)
    size, tree = 0, tree_hash(())
    if before is not None:
        try:
            size, tree = parse_checkpoint(before, restarts)
        except ValueError:  # the root keys asked for a new log
            before = None
    if before is not None and size == serial:
        return before
    entries = _new_entries(files, size, newest)
    if before is not None and not entries:
        return before
    edge = _edge(files, size)
    if tree_hash(edge) != tree:
        raise HubError(f"log/tile: is not what {CHECKPOINT} stands for; put the folder log back from a copy")
    nodes = [leaf_hash(entry) for entry in entries]
    for number, node in enumerate(nodes, size):
        edge = appended(edge, number, node)
    _write(files, size, nodes)
    checkpoint = checkpoint_text(restarts, size + len(entries), tree_hash(edge))
    files.replace(CHECKPOINT, checkpoint)
    return checkpoint


def _new_entries(files: HubFiles, size: int, newest: bytes | None) -> list[bytes]:
    """Return the entries from a serial on; empty ones for serials that no file has."""
    if newest is not None and json.loads(newest)["serial"] == size + 1:
        return [newest]
    serials = Truth(files).serials()
    last = max(serials.values(), default=0)
    if last < size:
        raise HubError(
            f"the newest record of this hub has serial {last}, and its log has {size} entries: records have gone. Put "
            "them back from a copy, or begin a new log, which the root keys must sign: gem hub keys rotate --stolen"
        )
    entries = [b""] * (last - size)
    for path, serial in serials.items():
        if serial > size:
            entries[serial - size - 1] = files.read(path) or b""
    return entries


def _edge(files: HubFiles, size: int) -> Edge:
    edge: Edge = ()
    done = 0
    for level in reversed(range(max(1, -(-size.bit_length() // TILE_HEIGHT)))):
        for node in _partial(files, level, size >> TILE_HEIGHT * level):
            edge = appended(edge, done, node, TILE_HEIGHT * level)
            done += 1 << TILE_HEIGHT * level
    return edge


def _write(files: HubFiles, size: int, nodes: Sequence[bytes]) -> None:
    """Write the tiles that new leaves change, level by level."""
    level = 0
    while nodes:
        known = _partial(files, level, size)
        tile = size // WIDTH
        all_nodes = [*known, *nodes]
        parents = []
        for at in range(0, len(all_nodes), WIDTH):
            block = all_nodes[at : at + WIDTH]
            number = tile + at // WIDTH
            files.replace(tile_path(level, number, len(block)), b"".join(block))
            if len(block) == WIDTH:
                parents.append(block_hash(block))
                for width in files.names(f"{tile_path(level, number)}.p"):
                    files.remove(f"{tile_path(level, number)}.p/{width}")
        size, nodes, level = size // WIDTH, parents, level + 1


def _partial(files: HubFiles, level: int, count: int) -> list[bytes]:
    """Return the nodes of the last tile of a level, if that is incomplete."""
    width = count % WIDTH
    if not width:
        return []
    path = tile_path(level, count // WIDTH, width)
    content = files.read(path) or (files.read(tile_path(level, count // WIDTH)) or b"")[: width * HASH_SIZE]
    if len(content) != width * HASH_SIZE:
        raise HubError(f"{path}: is missing or damaged; put the folder log back from a copy")
    return [content[at : at + HASH_SIZE] for at in range(0, len(content), HASH_SIZE)]
