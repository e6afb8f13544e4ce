"""The bundled encyclopedia: its pages, its links, and ways through it."""

from __future__ import annotations

import copy
import pickle
import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_games.wiki_graph import LONGEST_TITLE, Encyclopedia, Page, encyclopedia, title_key

TITLES = encyclopedia().titles


def distances(start: str) -> dict[str, int]:
    """Links from ``start`` to every page that can be reached, by breadth-first search over the pages themselves."""
    found = {start: 0}
    queue = [start]
    for title in queue:
        for link in encyclopedia().page(title).links:
            if link not in found:
                found[link] = found[title] + 1
                queue.append(link)
    return found


def test_pages_read_like_an_encyclopedia() -> None:
    """Hundreds of pages, each with a text without markup that names its subject and ends like a sentence."""
    assert len(TITLES) >= 250
    for title in TITLES:
        page = encyclopedia().page(title)
        assert page.title == title
        assert len(title) <= LONGEST_TITLE
        assert title.isprintable()
        assert not re.search(r"[][{}<>|#]", title)
        assert 60 <= len(page.text) <= 1000
        assert page.text.endswith((".", ".)"))
        assert not re.search(r"[][|{}]|\s{2}|\n| ,| \.", page.text)
        first_word = title.split()[0].casefold()
        assert first_word in page.text.casefold()


def test_links_lead_to_other_pages_once_each() -> None:
    """No link is broken, doubled or leads to its own page; every page has at least two, and one that leads to it."""
    linked = Counter(link for title in TITLES for link in encyclopedia().page(title).links)
    assert set(linked) == set(TITLES)
    for title in TITLES:
        links = encyclopedia().page(title).links
        assert len(links) >= 2
        assert len(set(links)) == len(links)
        assert title not in links


def test_titles_differ_in_more_than_case() -> None:
    """A title in any case means one page."""
    assert len({title_key(title) for title in TITLES}) == len(TITLES)


def test_every_page_can_be_reached_from_every_other() -> None:
    """The longest of all shortest ways fits into the turns of the hard variant."""
    farthest = 0
    for title in TITLES:
        found = distances(title)
        assert len(found) == len(TITLES)
        farthest = max(farthest, *found.values())
    assert farthest <= 15


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 6, 15, 30]))
def test_pairs_are_as_far_apart_as_promised(seed: int, max_turns: int) -> None:
    """Start and target are 2 to 6 links apart, not more than there are turns, and 1 where there is only one turn."""
    start, target = encyclopedia().draw_pair(Random(seed), max_turns)
    assert min(2, max_turns) <= distances(start.title)[target.title] <= min(6, max_turns)


def test_all_pages_are_drawn() -> None:
    """Starts and targets come from the whole encyclopedia."""
    rng = Random(0)
    pairs = [encyclopedia().draw_pair(rng, 30) for _ in range(4000)]
    assert {start.title for start, _ in pairs} == set(TITLES)
    assert len({target.title for _, target in pairs}) > 0.98 * len(TITLES)


@given(st.sampled_from(TITLES), st.sampled_from(TITLES))
def test_next_link_is_on_a_shortest_way(start: str, target: str) -> None:
    """Following next_link takes exactly as many steps as breadth-first search says."""
    steps, title = 0, start
    while title != target:
        link = encyclopedia().next_link(title, target)
        assert link in encyclopedia().page(title).links
        assert link is not None
        title, steps = link, steps + 1
    assert steps == distances(start)[target]


def test_next_link_knows_nothing_of_other_wikis() -> None:
    """For a title that is not in the encyclopedia there is no advice."""
    assert encyclopedia().next_link("Lion", "No such page") is None
    assert encyclopedia().next_link("No such page", "Lion") is None


@pytest.mark.parametrize("title", ["Marie Curie", "marie curie", "MARIE  CURIE", " Marie_Curie ", "Marie\u00a0Curie"])
def test_titles_are_compared_sensibly(title: str) -> None:
    """Neither case nor kind of blanks matters."""
    assert encyclopedia().page(title).title == "Marie Curie"


def test_composed_and_decomposed_letters_are_the_same() -> None:
    """É may be one character or two."""
    assert encyclopedia().page("Fre\u0301de\u0301ric Chopin").title == "Frédéric Chopin"


def test_an_unknown_title_gives_a_page_without_links() -> None:
    """A title that does not exist is no error."""
    assert encyclopedia().page("No such page") == Page("No such page", "", ())


def test_copies_and_pickles_are_the_same_object() -> None:
    """The encyclopedia is shared, also by environments that were copied."""
    assert pickle.loads(pickle.dumps(encyclopedia())) is encyclopedia()
    assert copy.deepcopy(encyclopedia()) is encyclopedia()


def test_first_of_several_shortest_ways() -> None:
    """Among links that are equally near the target, the first of the page is taken."""
    wiki = Encyclopedia(
        [
            Page("A", "", ("B", "C", "D")),
            Page("B", "", ("A",)),
            Page("C", "", ("E",)),
            Page("D", "", ("E",)),
            Page("E", "", ("A",)),
        ]
    )
    assert wiki.next_link("A", "E") == "C"
