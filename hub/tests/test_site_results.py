"""The leaderboards on a package's page: what stands in which table, in words and in a plot, and that nothing loads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from signed_results import NAME, OWNER, made_result, new_key, signed_event, toy_package
from site_pages import Element, parsed

from gem_hub.events import Event, Quarantine, ResultDecision
from gem_hub.package import WheelPackage
from gem_hub.site import pages
from gem_hub.site.build import details_of
from gem_hub.site.leaderboards import PlotPoint

GOOD = [1.0] * 10 + [0.0] * 2
POOR = [0.0] * 11 + [1.0]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> WheelPackage:
    """A package with results of two harnesses, one of a stranger, one on other seeds and one that was withdrawn."""
    folder = tmp_path_factory.mktemp("keys")
    alice, bob = new_key(folder, "alice"), new_key(folder, "bob")
    results = [
        signed_event(made_result(OWNER, alice, GOOD, model="great-model", salt="1"), alice),
        signed_event(made_result(OWNER, alice, POOR, model="great-model", harness="other-loop", salt="2"), alice),
        signed_event(made_result("bob", bob, [1.0] * 12, model="boasting-model", salt="3"), bob),
        signed_event(made_result(OWNER, alice, GOOD[1:], salt="4"), alice),
        signed_event(made_result(OWNER, alice, GOOD, model="cheat", salt="5"), alice),
    ]
    gone = ResultDecision(name=NAME, by=OWNER, result=results[-1].id, action="withdraw", reason="it saw the seeds")
    return _with(toy_package(), [*results, gone])


def _with(package: WheelPackage, events: list[Any]) -> WheelPackage:
    for event in events:
        package = package.after(event.model_copy(update={"serial": package.last.serial + 1}))
    return package


def page_of(package: WheelPackage, *events: Event) -> Element:
    """Return the page of a package after further events."""
    return parsed(pages(details_of([_with(package, list(events))]))[f"p/{NAME}/index.html"])


def boards_on(page: Element) -> list[Element]:
    return [section for section in page.all("section") if section.attributes.get("class") == "board"]


def test_results_on_other_seeds_stand_in_another_table(package: WheelPackage) -> None:
    """A table holds results on one wheel and one set of seeds, and says which."""
    first, second = boards_on(page_of(package))
    assert [row.attributes["data-agent"] for row in first.all("tr")[1:]] == [
        "great-model", "great-model", "boasting-model"
    ]  # fmt: skip
    assert "seeds 0 to 11" in first.text
    assert [row.attributes["data-agent"] for row in second.all("tr")[1:]] == ["small-model"]
    assert "seeds 0 to 10" in second.text


def test_an_unreviewed_result_is_not_what_others_are_measured_by(package: WheelPackage) -> None:
    """However good it is, it comes last, says that it is unreviewed, and the differences are to a reviewed one."""
    rows = boards_on(page_of(package))[0].all("tr")[1:]
    assert [row.attributes["data-state"] for row in rows] == ["admitted", "admitted", "unreviewed"]
    assert "best" in rows[0].text
    assert "−0.750" in rows[1].text
    assert "not told apart from the best" in rows[2].text
    assert "unreviewed" in rows[2].text
    assert "unreviewed" not in rows[0].text


def test_a_score_has_its_interval_and_what_is_unknown(package: WheelPackage) -> None:
    """No mean stands alone."""
    text = boards_on(page_of(package))[0].all("tr")[1].text
    assert "0.833" in text
    assert "12 episodes, 0 unknown" in text
    assert " … " in text


def test_a_withdrawn_result_stands_in_no_table(package: WheelPackage) -> None:
    """The page says that it was withdrawn, by whom and why."""
    page = page_of(package)
    assert all("cheat" not in board.text for board in boards_on(page))
    assert "(cheat) was withdrawn by alice: it saw the seeds" in page.text


def test_the_plot_shows_each_result_with_tokens_and_loads_nothing(package: WheelPackage) -> None:
    """A point has its place, its interval and its name; there is one plot for tokens and one for the price."""
    board = boards_on(page_of(package))[0]
    tokens, price = board.all("svg")
    for plot in (tokens, price):
        assert [circle.attributes["class"] for circle in plot.all("circle")] == ["reviewed", "reviewed", "unreviewed"]
        assert all(0 < float(circle.attributes["cx"]) < 560 for circle in plot.all("circle"))
        assert all(0 < float(circle.attributes["cy"]) < 240 for circle in plot.all("circle"))
        assert len(plot.all("path", **{"class": "bar"})) == 3
    for element in page_of(package).all():
        assert not element.attributes.get("src", "").startswith(("http", "//"))
        assert "style" not in element.attributes


@pytest.mark.parametrize("length", [1, 30, 50, 200])
def test_a_name_in_a_plot_stays_within_it(length: int) -> None:
    """It is at the side that has room for it, and is cut at the wider one where neither has; 7 pixels are a letter."""
    for x in range(46, 545):
        point = PlotPoint("n" * length, x, 100.0, 120.0, 80.0, is_reviewed=True)
        assert len(point.name) * 7 <= (560 - x if point.anchor == "start" else x) - 8
        assert point.name == point.label or point.name == "n" * (len(point.name) - 1) + "…"
        assert len(point.name) == min(length, max(560 - x - 8, x - 8) // 7)


UNTOLD: dict[str, Any] = {"outcome": "untold", "episode_return": 1.0}
LOST: dict[str, Any] = {"outcome": "unknown", "episode_return": 0.0, "failure": "endpoint:timeout"}
HUGE: dict[str, Any] = {"outcome": "unsuccessful", "cost": 1e9, "prompt_tokens": 10**12}
TINY: dict[str, Any] = {"outcome": "unsuccessful", "cost": 1e-300, "prompt_tokens": 1, "completion_tokens": 0}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("episode", [UNTOLD, LOST, HUGE, TINY], ids=["untold", "lost", "huge", "tiny"])
def test_a_strangers_result_changes_nothing_about_the_reviewed_ones(
    episode: dict[str, Any], package: WheelPackage, tmp_path: Path
) -> None:
    """Neither metric, rows nor places in the plot of reviewed results depend on what nobody has looked at."""
    key = new_key(tmp_path, "mallory")
    plain = made_result("mallory", key, POOR, model="strange-model", salt="9")
    episodes = tuple(replace(one, **episode) for one in plain.episodes)
    strange = made_result("mallory", key, POOR, model="strange-model", salt="9", episodes=episodes)
    before, after = (boards_on(page_of(package, *more))[0] for more in ((), (signed_event(strange, key),)))
    assert [row.text for row in after.all("tr")[1:4]] == [row.text for row in before.all("tr")[1:4]]
    row = after.all("tr")[4]
    assert row.attributes["data-agent"] == "strange-model"
    assert "best" not in row.text.replace("not told apart from the best", "")
    for old, new in zip(before.all("svg"), after.all("svg"), strict=True):
        reviewed = [
            [circle.attributes for circle in plot.all("circle", **{"class": "reviewed"})] for plot in (old, new)
        ]
        assert reviewed[0] == reviewed[1]
        assert all(0 < float(circle.attributes["cx"]) < 560 for circle in new.all("circle"))


def test_a_page_without_results_says_nothing_of_them() -> None:
    """Neither a section nor a script of results is on it."""
    page = page_of(toy_package())
    assert not boards_on(page)
    assert all("results" not in script.attributes["src"] for script in page.all("script"))


def test_a_quarantined_package_shows_no_results(package: WheelPackage) -> None:
    """What is not safe is not advertised."""
    assert not boards_on(page_of(package, Quarantine(name=NAME, by="olivia", reason="unsafe")))
