"""Questions about worlds that were written by hand, with the answers that a person gives."""

from __future__ import annotations

import pytest

from gem_envs_visual.charts import Chart, ChartsEnv
from gem_envs_visual.charts_policy import ChartsPolicy
from gem_envs_visual.gauges import Gauges, GaugesEnv, Instrument
from gem_envs_visual.routes import RouteLevel, RouteMap
from gem_envs_visual.tables import NumberTable
from gem_questions.pictures.png import picture_part

CITIES = ("DAX", "HUP", "KEC", "LUN")


def chart(*asked: str, kind: str = "bars") -> Chart:
    """Return a chart of two series in steps of five."""
    values = ((2, 7, 4, 9), (6, 8, 3, 1))
    return Chart(kind, ChartsEnv.levels["medium"], 5, CITIES, ("RAP", "TEX"), values, 0, asked)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("value", "RAP", "KEC"), "20"),
        (("value", "TEX", "LUN"), "5"),
        (("rank", "RAP", "highest"), "LUN"),
        (("rank", "RAP", "second highest"), "HUP"),
        (("rank", "TEX", "third highest"), "KEC"),
        (("difference", "RAP", "DAX", "LUN"), "35"),
        (("difference", "TEX", "HUP", "DAX"), "10"),
        (("total", "TEX", "DAX", "HUP", "LUN"), "75"),
        (("gap", "RAP", "TEX"), "LUN"),
    ],
)
def test_what_a_chart_answers(asked: tuple[str, ...], answer: str) -> None:
    """RAP is 10, 35, 20, 45 and TEX 30, 40, 15, 5; all that the question names stands in it."""
    found = chart(*asked)
    assert found.answer == answer
    assert all(word in found.question for word in asked[1:])


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_a_chart_is_drawn_to_its_scale(kind: str) -> None:
    """A policy that measures it reads the lowest, the highest and a middle value."""
    for asked, answer in (
        (("value", "TEX", "LUN"), "5"),
        (("value", "RAP", "LUN"), "45"),
        (("value", "RAP", "KEC"), "20"),
    ):
        found = chart(*asked, kind=kind)
        observation = [picture_part(found.picture().png()), {"type": "text", "text": found.question}]
        assert ChartsPolicy().act(observation, {}) == f"\\boxed{{{answer}}}"


def test_a_gap_that_is_widest_twice_has_no_answer() -> None:
    """Such a question is not asked."""
    values = ((2, 7, 4, 9), (6, 8, 8, 9))
    assert (
        Chart("bars", ChartsEnv.levels["medium"], 5, CITIES, ("RAP", "TEX"), values, 0, ("gap", "RAP", "TEX")).answer
        == ""
    )


def table(*asked: str) -> NumberTable:
    """Return a table of four rows."""
    cells = ((31, 91, 13), (66, 65, 26), (87, 21, 99), (33, 19, 84))
    return NumberTable(CITIES, ("RAP", "TEX", "VUM"), cells, asked)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("cell", "KEC", "VUM"), "99"),
        (("rank", "RAP", "lowest"), "DAX"),
        (("rank", "RAP", "second lowest"), "LUN"),
        (("rank", "TEX", "highest"), "DAX"),
        (("rank", "TEX", "third highest"), "KEC"),
        (("difference", "VUM", "HUP", "LUN"), "58"),
        (("filtered", "RAP", "TEX", "VUM", "highest"), "KEC"),
        (("filtered", "RAP", "TEX", "VUM", "lowest"), "HUP"),
        (("sum", "RAP", "VUM", "50"), "97"),
        (("sum", "RAP", "VUM", "26"), ""),
        (("sum", "RAP", "TEX", "20"), ""),
    ],
)
def test_what_a_table_answers(asked: tuple[str, ...], answer: str) -> None:
    """Rows HUP, KEC and LUN have more in RAP than in TEX; a sum over one row is not asked for."""
    found = table(*asked)
    assert found.answer == answer
    assert all(word in found.question for word in asked[1:])


def test_equal_numbers_have_no_rank() -> None:
    """Where a column has a number twice among the rows that count, no row is the one that is asked for."""
    cells = ((31, 10, 13), (66, 11, 26), (87, 12, 26), (33, 13, 84))
    assert NumberTable(CITIES, ("RAP", "TEX", "VUM"), cells, ("filtered", "RAP", "TEX", "VUM", "highest")).answer == ""


INSTRUMENTS = (
    Instrument("clock", "DAX", 7 * 60 + 35, 1),
    Instrument("clock", "HUP", 5, 1),
    Instrument("dial", "KEC", 7, 20),
    Instrument("tube", "LUN", 3, 2),
    Instrument("dial", "RAP", 10, 5),
)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("time", "DAX"), "735"),
        (("time", "HUP"), "1205"),
        (("value", "KEC"), "140"),
        (("later", "DAX", "HUP"), "270"),
        (("later", "HUP", "DAX"), "450"),
        (("difference", "LUN", "RAP"), "44"),
        (("total", "KEC", "LUN", "RAP"), "196"),
    ],
)
def test_what_gauges_answer(asked: tuple[str, ...], answer: str) -> None:
    """DAX shows 7:35 and HUP 12:05; KEC 140, LUN 6 and RAP 50."""
    found = Gauges(GaugesEnv.levels["hard"], INSTRUMENTS, asked)
    assert found.answer == answer
    assert all(word in found.question for word in asked[1:])


def test_what_a_map_answers() -> None:
    """The direct road is the longer one, and a way goes on from the heading at which it comes to a place."""
    level = RouteLevel(2, 2, 0.0, 1, 2)
    roads = (((0, 0), (1, 0), 30), ((0, 0), (0, 1), 4), ((0, 1), (1, 1), 5), ((1, 0), (1, 1), 6))
    assert RouteMap(level, CITIES, roads, (), "shortest", (0, 0), (1, 0)).answer == "15"
    described = RouteMap(level, CITIES, roads, (), "described", (0, 0), (1, 0), "south", ("left", "left"))
    assert described.answer == "HUP"
    assert "You leave DAX for the south" in described.question
    assert "one after the other: left, left." in described.question
