"""The order that needs no memory, and the rows that are stored nowhere."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_questions import GeneratedRows, Permutation

KEYS = st.integers(0, 2**64 - 1)


@given(st.integers(1, 3000), KEYS)
@example(1, 0)
@example(2, 2**64 - 1)
def test_every_number_comes_out_once(size: int, key: int) -> None:
    """A permutation of any size is one."""
    order = Permutation(size, key)
    assert sorted(order[position] for position in range(size)) == list(range(size))


def test_every_size_up_to_five_hundred_is_a_permutation() -> None:
    """No size falls between the bases of the network."""
    for size in range(1, 501):
        order = Permutation(size, size * 7919)
        assert len({order[position] for position in range(size)}) == size
        assert all(0 <= order[position] < size for position in range(size))


@given(st.integers(2**40, 2**62), KEYS, st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_huge_set_costs_no_memory(size: int, key: int, first: int, second: int) -> None:
    """Numbers of a set of any size are looked up alone, stay in it, and differ where their positions do."""
    order = Permutation(size, key)
    assert 0 <= order[first] < size
    assert (order[first] == order[second]) == (first == second)


def test_the_order_is_the_same_on_every_platform() -> None:
    """These numbers are written down: they must never change, or runs could not be repeated."""
    assert [Permutation(10, 7)[position] for position in range(10)] == TEN
    assert [Permutation(10**12, 2**64 - 1)[position] for position in range(3)] == HUGE


TEN = [3, 5, 6, 1, 0, 8, 2, 7, 4, 9]
HUGE = [585920902182, 226734970249, 535613740474]


@pytest.mark.parametrize("size", [2, 7, 97])
def test_every_number_is_as_likely_to_come_first(size: int) -> None:
    """Over many keys, one after the other or drawn, the first number is uniform (chi-square, 6 sigma)."""
    rng = random.Random(5)
    for keys in (range(20_000), [rng.getrandbits(64) for _ in range(20_000)]):
        counts = Counter(Permutation(size, key)[0] for key in keys)
        expected = 20_000 / size
        chi_square = sum((counts[number] - expected) ** 2 / expected for number in range(size))
        freedom = size - 1
        assert chi_square < freedom + 6 * (2 * freedom) ** 0.5


def test_neighbours_do_not_stay_together() -> None:
    """In one long order, the region of a number says nothing about that of the next (chi-square, 6 sigma)."""
    size, regions = 50_021, 20
    order = Permutation(size, 11)
    numbers = [order[position] * regions // size for position in range(size)]
    counts = Counter(itertools.pairwise(numbers))
    expected = (size - 1) / regions**2
    chi_square = sum((counts[one, two] - expected) ** 2 / expected for one in range(regions) for two in range(regions))
    freedom = regions**2 - 1
    assert chi_square < freedom + 6 * (2 * freedom) ** 0.5


def _row(rng: random.Random, index: int) -> dict[str, float]:
    return {"index": index, "number": rng.random()}


@given(st.integers(1, 10**15), st.integers(0, 2**70), st.data())
def test_a_generated_row_is_a_function_of_seed_and_index(size: int, seed: int, data: st.DataObject) -> None:
    """What was asked for before makes no difference, and neighbours and other seeds differ."""
    index = data.draw(st.integers(0, size - 1))
    rows = GeneratedRows(_row, size, seed=seed)
    before = rows[index]
    assert rows[(index + 1) % size]["number"] != before["number"] or size == 1
    assert rows[index] == before == GeneratedRows(_row, size, seed=seed)[index] == rows[index - size]
    assert GeneratedRows(_row, size, seed=seed + 1)[index]["number"] != before["number"]


def test_generated_rows_end_where_they_say() -> None:
    """A loop over generated rows comes to its end; beyond it there is nothing."""
    rows = GeneratedRows(_row, 5)
    assert [row["index"] for row in rows] == [0, 1, 2, 3, 4]  # type: ignore[attr-defined]  # by __getitem__
    for index in (5, -6):
        with pytest.raises(IndexError, match="there are 5 rows"):
            rows[index]


def test_generated_rows_refuse_what_they_cannot_be() -> None:
    """No function, no size, a negative seed."""
    with pytest.raises(ArgumentTypeError, match="make must be a function"):
        GeneratedRows(3, 5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="size must be at least 1"):
        GeneratedRows(_row, 0)
    with pytest.raises(ArgumentError, match="seed must be at least 0"):
        GeneratedRows(_row, 5, seed=-1)
