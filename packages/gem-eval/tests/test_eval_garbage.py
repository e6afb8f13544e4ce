"""The collector of reference cycles while runs are played and read."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gem_eval.runs.garbage import rare_collections, without_collections


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    before, frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.unfreeze()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
    if frozen:  # by the test session
        gc.freeze()
    gc.enable()


def test_the_settings_return_after_overlapping_blocks() -> None:
    """Blocks of two runs that end in the order in which they began leave no trace."""
    gc.set_threshold(600, 9, 8)
    one, other = rare_collections(), rare_collections()
    one.__enter__()
    inside = gc.get_threshold()
    other.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold() == inside != (600, 9, 8)
    assert gc.get_freeze_count() > 0
    other.__exit__(None, None, None)
    assert gc.get_threshold() == (600, 9, 8)
    assert gc.get_freeze_count() == 0


def test_what_the_caller_has_set_is_kept() -> None:
    """A collector that is off stays off, a higher threshold stays, and frozen objects stay frozen."""
    gc.freeze()
    gc.set_threshold(0)
    with rare_collections():
        assert gc.get_threshold()[0] == 0
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.set_threshold(1_000_000)
    with rare_collections():
        assert gc.get_threshold()[0] == 1_000_000


def test_an_error_ends_a_block_too() -> None:
    """Both kinds of blocks."""
    before = gc.get_threshold()
    for block in (rare_collections, without_collections):
        with pytest.raises(KeyError), block():
            raise KeyError
    assert gc.get_threshold() == before
    assert gc.isenabled()
    gc.disable()
    with without_collections():
        pass
    assert not gc.isenabled()
