from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gem_hub.plan import BLOCK, Segment, plan

SERIALS = st.integers(0, 400_000)


@given(SERIALS)
def test_segments_join_up_and_lead_from_the_snapshot_to_the_newest_change(serial: int) -> None:
    """Segments follow each other without a gap, begin at or before the snapshot, and end at the newest change."""
    planned = plan(serial)
    assert all(later.first == earlier.last + 1 for earlier, later in pairwise(planned.segments))
    assert planned.snapshot <= serial
    after = [segment for segment in planned.segments if segment.last > planned.snapshot]
    assert (after[-1].last if after else planned.snapshot) == serial
    assert not after or after[0].first <= planned.snapshot + 1


@given(SERIALS)
def test_one_more_change_needs_only_what_is_there(serial: int) -> None:
    """Each segment of the next plan is there already, or is joined from ones that are and maybe the new change."""
    before, after = plan(serial), plan(serial + 1)
    edges = {segment.last for segment in before.segments} | {segment.first - 1 for segment in before.segments}
    for segment in after.segments:
        is_new = segment == Segment(serial + 1, serial + 1)
        assert is_new or segment.first - 1 in edges
        assert segment.last in edges or segment.last == serial + 1
    assert after.snapshot in (before.snapshot, serial + 1)


@given(SERIALS)
def test_root_stays_small_and_a_new_client_reads_few_files(serial: int) -> None:
    """There are at most 36 segments in all, and at most 17 after the snapshot."""
    planned = plan(serial)
    assert len(planned.segments) <= 36
    assert sum(segment.last > planned.snapshot for segment in planned.segments) <= 17


@given(st.integers(20_000, 400_000), st.integers(1, 500))
def test_a_day_behind_costs_little(serial: int, behind: int) -> None:
    """A client that is at most 500 changes behind reads ten files at most, and at most three blocks too much."""
    needed = [segment for segment in plan(serial).segments if segment.last > serial - behind]
    lines = sum(segment.last - segment.first + 1 for segment in needed)
    assert len(needed) <= 10
    assert lines - behind < 3 * BLOCK


@given(st.integers(1, 300))
def test_the_snapshot_is_written_seldom(blocks: int) -> None:
    """Between two multiples of a block the snapshot stands still, and beyond 128 blocks for longer still."""
    serial = blocks * BLOCK
    assert {plan(serial + step).snapshot for step in range(BLOCK)} == {plan(serial).snapshot}
