"""Innocent programs beside hostile ones: none is lost, late or judged otherwise, and nothing is left of either."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from crowd import ATTACKS, INNOCENT, Crowd, beside_attackers_and_ordinary_programs, family

from gem_tools.sandbox import Sandbox, SandboxError, SandboxWarning

SLACK = 0.5
"""Seconds by which an execution may be late, beyond what the load of the machine explains."""


@contextmanager
def crowd_in(mode: str) -> Iterator[Crowd]:
    """A crowd in a warm sandbox, which must leave no process and keep its server."""
    with Sandbox(mode, INNOCENT) as sandbox, warnings.catch_warnings():
        warnings.simplefilter("ignore", SandboxWarning)
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, {mode}: {error}")
        crowd = Crowd(sandbox)
        generation, before = crowd.launcher.generation, family()
        yield crowd
        assert sandbox._launcher("").generation == generation
        assert family() <= before


@pytest.mark.parametrize("mode", ["required", pytest.param("restricted", marks=pytest.mark.nightly)])
def test_none_is_lost_late_or_judged_otherwise_beside_attackers(mode: str) -> None:
    """Each innocent program has the verdict that it has alone, as soon as its processes had their processor time.

    A process also waits for a processor after it has told how long it waited, in the sandbox and outside.
    """
    with crowd_in(mode) as crowd:
        meeting = crowd.meet(range(40), ATTACKS, beside=2)
        assert meeting.lost == []
        assert len(meeting.late) == 40
        assert meeting.others >= 2
        assert max(meeting.late) <= SLACK + max(meeting.machine)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["required", "restricted"])
def test_none_is_later_beside_eight_attackers_than_beside_as_many_ordinary_programs(mode: str) -> None:
    """Of 10,000 and 2,500, in turns: all have the verdict that they have alone."""
    with crowd_in(mode) as crowd:
        for hostile, ordinary in beside_attackers_and_ordinary_programs(crowd, 10_000, beside=8):
            assert hostile.lost == ordinary.lost == []
        assert (len(hostile.late), len(ordinary.late)) == (10_000, 2_500)
        assert min(hostile.others, ordinary.others) >= 8
        assert max(hostile.late) <= SLACK + max(ordinary.late)
