"""The log of a hub: every record and event in the order of their serials, which can only grow.

Entry ``n`` is the file of the record or event with serial ``n + 1``, byte for byte; a serial that no file has is an
empty entry. Its Merkle tree lies in static files, laid out as in https://c2sp.org/tlog-tiles but with 32 hashes in each
instead of 256: a day of 500 changes then costs a client 4 kB instead of 20. The hub signs the checkpoint: the size of
the tree and its hash. A client remembers the edge of the tree that it has seen, so a hub that
changes or removes an entry that a client has seen is found out. Two histories for two clients are found out when their
checkpoints are compared; see :mod:`gem_hub_client.trust.checkpoints`.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from gem_hub_client.config import Hub
from gem_hub_client.errors import MissingFileError, TrustError
from gem_hub_client.transport import HubSource
from gem_hub_client.trust.merkle import Edge, appended, block_hash, leaf_hash, tree_hash
from gem_hub_client.trust.pins import Pin
from gem_hub_client.trust.refresh import TrustedHub, read_target

__all__ = [
    "CHECKPOINT",
    "HASH_SIZE",
    "TILE_HEIGHT",
    "WIDTH",
    "LogReader",
    "checkpoint_text",
    "follow_log",
    "parse_checkpoint",
    "tile_path",
]

CHECKPOINT = "log/checkpoint"
"""The target that holds the size and the hash of the log."""
TILE_HEIGHT = 5
"""Levels of the tree that one level of tiles stands for."""
WIDTH = 1 << TILE_HEIGHT
"""Hashes in a complete tile."""
HASH_SIZE = 32
"""Bytes of a hash."""
_LIMIT = 1_000
_MOST_ENTRIES = 10**9


def tile_path(level: int, number: int, width: int = WIDTH) -> str:
    """Return the path of a tile in a hub, with at least ``width`` of its hashes."""
    groups = [f"{number % 1000:03}"]
    while number >= 1000:
        number //= 1000
        groups.insert(0, f"x{number % 1000:03}")
    name = f"log/tile/{level}/{'/'.join(groups)}"
    return name if width == WIDTH else f"{name}.p/{width}"


def checkpoint_text(restarts: int, size: int, tree: bytes) -> bytes:
    """Return a checkpoint: what the log is, its size, and the hash of its tree."""
    return f"gem hub log {restarts}\n{size}\n{base64.b64encode(tree).decode()}\n".encode()


def parse_checkpoint(content: bytes, restarts: int) -> tuple[int, bytes]:
    """Return the size of a log and the hash of its tree.

    Raises:
        ValueError: if it is no checkpoint, or of a log that was given up.
    """
    origin, size, tree, end = content.decode().split("\n")
    if origin != f"gem hub log {restarts}" or end or not (size.isascii() and size.isdecimal()):
        raise ValueError(f"it is {origin!r} with {size!r} entries")
    try:
        digest = base64.b64decode(tree, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if len(digest) != HASH_SIZE or int(size) > _MOST_ENTRIES or checkpoint_text(restarts, int(size), digest) != content:
        raise ValueError("its size or its hash is in no usual form")
    return int(size), digest


def follow_log(hub: Hub, source: HubSource, trusted: TrustedHub) -> Pin:
    """Check that a hub's log continues the one that was seen, and return the pin that remembers it.

    Raises:
        TrustError: if the log has become shorter, or does not begin with what was seen.
        HubError: if a file of it cannot be read.
    """
    pin = trusted.pin
    promised = trusted.targets.files.get(CHECKPOINT)
    if promised is None:
        if pin.log_size:
            raise TrustError(f"{hub.name}: has no log any more, by which its history could be checked; it was not used")
        return pin
    if promised.sha256 == pin.log_digest:
        return pin
    content = read_target(hub, source, trusted, CHECKPOINT, _LIMIT)
    try:
        size, tree = parse_checkpoint(content, trusted.root.restarts)
    except ValueError as error:
        raise TrustError(f"{hub.name}: {CHECKPOINT} cannot be used: {error}") from error
    if size < pin.log_size:
        raise TrustError(
            f"{hub.name}: its log has {size:,} entries, and this machine has seen {pin.log_size:,}, so a part of its "
            "history was taken back; it was not used"
        )
    reader = LogReader(hub, source, size)
    edge = tuple(bytes.fromhex(node) for node in pin.log_edge)
    edge = reader.extended(edge, pin.log_size) if pin.log_size else reader.edge()
    if tree_hash(edge) != tree:
        what = f"does not continue the {pin.log_size:,} entries that this machine has seen" if pin.log_size else (
            "is not what was signed"
        )  # fmt: skip
        raise TrustError(
            f"{hub.name}: its log of {size:,} entries {what}: its history was rewritten, or is being changed right "
            "now; nothing of it was used"
        )
    return replace(pin, log_size=size, log_edge=tuple(node.hex() for node in edge), log_digest=promised.sha256)


class LogReader:
    """Reads the tiles of a log of a known size; each tile once."""

    def __init__(self, hub: Hub, source: HubSource, size: int) -> None:
        self.hub = hub
        self.size = size
        self._source = source
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

    def edge(self, size: int | None = None) -> Edge:
        """Return the edge of the tree, or of its first ``size`` entries, as the tiles give it."""
        size = self.size if size is None else size
        edge: Edge = ()
        done = 0
        for level in reversed(range(_levels(size))):
            complete = size >> TILE_HEIGHT * level
            for number in range(complete - (complete & WIDTH - 1), complete):
                edge = appended(edge, done, self._node(level, number), TILE_HEIGHT * level)
                done += 1 << TILE_HEIGHT * level
        return edge

    def extended(self, edge: Edge, size: int) -> Edge:
        """Return the edge of the tree that appends the rest of the log to an earlier edge."""
        while size < self.size:
            level = 0
            while size % (1 << TILE_HEIGHT * (level + 1)) == 0 and size + (1 << TILE_HEIGHT * (level + 1)) <= self.size:
                level += 1
            edge = appended(edge, size, self._node(level, size >> TILE_HEIGHT * level), TILE_HEIGHT * level)
            size += 1 << TILE_HEIGHT * level
        return edge

    def check_entry(self, edge: Edge, index: int, entry: bytes) -> None:
        """Check that an entry stands at an index of the log.

        Args:
            edge: the verified edge of the whole log.
            index: from 0.
            entry: its bytes.

        Raises:
            TrustError: if another one stands there, or the log is shorter.
        """
        if not 0 <= index < self.size:
            raise TrustError(f"{self.hub.name}: its log has {self.size:,} entries, and none with number {index:,}")
        top, expected = self._subtree(edge, index)
        node, level, number = leaf_hash(entry), 0, index
        while True:
            height = min(top - level, TILE_HEIGHT)
            first = number >> height << height
            block = [self._node(level // TILE_HEIGHT, at) for at in range(first, first + (1 << height))]
            if block[number - first] != node:
                raise TrustError(f"{self.hub.name}: entry {index:,} of its log is another one than what it shows")
            node, level, number = block_hash(block), level + height, number >> height
            if level == top:
                break
        if node != expected:
            raise TrustError(f"{self.hub.name}: the tiles of its log contradict its signed checkpoint")

    def _subtree(self, edge: Edge, index: int) -> tuple[int, bytes]:
        """Return height and hash of the complete subtree with a leaf."""
        begin = 0
        heights = [bit for bit in reversed(range(self.size.bit_length())) if self.size >> bit & 1]
        for height, node in zip(heights, edge, strict=True):
            if index < begin + (1 << height):
                return height, node
            begin += 1 << height
        raise AssertionError(index)  # the caller has compared it with the size

    def _node(self, level: int, number: int) -> bytes:
        tile = number // WIDTH
        if (level, tile) not in self._tiles:
            self._tiles[level, tile] = self._tile(level, tile)
        return self._tiles[level, tile][number % WIDTH]

    def _tile(self, level: int, tile: int) -> list[bytes]:
        width = min(WIDTH, (self.size >> TILE_HEIGHT * level) - tile * WIDTH)
        path = tile_path(level, tile, width)
        try:
            content = self._source.read(path, WIDTH * HASH_SIZE).content or b""
        except MissingFileError:  # it was completed in the meantime
            if width == WIDTH:
                raise
            content = self._source.read(tile_path(level, tile), WIDTH * HASH_SIZE).content or b""
            content = content[: width * HASH_SIZE]
        if len(content) != width * HASH_SIZE:
            raise TrustError(f"{self.hub.name}: {path} has {len(content):,} bytes, and must have {width * HASH_SIZE:,}")
        return [content[at : at + HASH_SIZE] for at in range(0, len(content), HASH_SIZE)]


def _levels(size: int) -> int:
    return max(1, -(-size.bit_length() // TILE_HEIGHT))
