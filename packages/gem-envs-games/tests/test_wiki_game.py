"""WikiGame: its rules, its rewards, its ways back and its policy, in the bundled encyclopedia."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

from gem.errors import ArgumentError, ArgumentTypeError, GemError, StateError
from gem_envs_games.wiki_game import WikiGameEnv, WikiGamePolicy, summarize
from gem_envs_games.wiki_graph import encyclopedia

Result = tuple[str, float, bool, bool, dict[str, Any]]

START, TARGET = "Lion", "Chess"


def begun(variant: str = "noregrets", max_turns: int = 20, start: str = START, target: str = TARGET) -> WikiGameEnv:
    env = WikiGameEnv(max_turns=max_turns, variant=variant)
    env.reset(seed=0, options={"start": start, "target": target})
    return env


def go(env: WikiGameEnv, *titles: str) -> list[Result]:
    return [env.step(f"\\boxed{{{title}}}") for title in titles]


def rewards(env: WikiGameEnv, *titles: str) -> list[float]:
    return [reward for _, reward, *_ in go(env, *titles)]


def current(env: WikiGameEnv) -> str:
    title: str = env.get_state()["episode"]["page"][0]
    return title


def test_the_observation_shows_target_page_summary_and_links() -> None:
    """One turn's observation is enough to choose the next link."""
    observation, *_ = go(begun(), "Cat")[0]
    assert observation.splitlines() == [
        "Turn 1 of 20. You are on the page 'Cat'.",
        "Target page: Chess",
        "Current page: Cat",
        "The cat was tamed where wheat was stored, because it hunts the mouse. It was holy in Ancient Egypt;…",
        "Links:",
        "- Wheat",
        "- Mouse",
        "- Ancient Egypt",
        "- Lion",
        "- Tiger",
        "Which page is next?",
    ]


def test_instructions_name_both_pages_and_the_way_back() -> None:
    """Start, target, its summary, turns, format and the variant's rule stand in the first observation."""
    for variant, rule in {
        "noregrets": "There is no way back",
        "oneback": "not twice in a row",
        "freenav": "as often as you like",
        "eidetic": "any page that you have been to",
    }.items():
        env = WikiGameEnv(variant=variant)
        observation, info = env.reset(options={"start": START, "target": TARGET})
        assert info == {"turn": 0}
        for part in ("'Lion'", "'Chess'", "About the target page: Chess is a board game", "20 turns", "\\boxed{", rule):
            assert part in observation


def test_a_step_costs_a_little_and_the_target_pays() -> None:
    """A link pays -0.05, the target 1.0 and ends the game, without truncation."""
    env = begun(target="Wheat")
    first, last = go(env, "Cat", "Wheat")
    assert first[1:] == (-0.05, False, False, {"turn": 1, "action_status": "legal"})
    assert last[1:] == (1.0, True, False, {"turn": 2, "action_status": "legal", "success": True})
    assert "Current page: Wheat" in last[0]


@pytest.mark.parametrize("title", ["wheat", "WHEAT", " Wheat ", "Wheat\n"])
def test_case_and_blanks_do_not_matter(title: str) -> None:
    """A link is found however its title is written."""
    assert rewards(begun(target="Wheat"), "Cat", title)[-1] == 1.0


@pytest.mark.parametrize("title", ["Chess", "Moon", "No such page", "x" * 280, "\ud800", "<prev_page>", "Li", "{}"])
def test_a_page_that_is_not_linked_is_illegal(title: str) -> None:
    """It costs 0.2 and a turn, also if it is the target itself, and the game goes on from the same page."""
    env = begun()
    observation, reward, terminated, truncated, info = go(env, title)[0]
    assert (reward, terminated, truncated, info["action_status"]) == (-0.2, False, False, "illegal")
    assert current(env) == START
    assert observation.encode()


def test_a_part_of_a_title_is_answered_with_a_suggestion() -> None:
    """The first link that holds the guess is named."""
    assert "Did you mean 'Ancient Egypt'?" in go(begun(), "Cat", "egypt")[1][0]


@pytest.mark.parametrize(
    "action",
    [
        "",
        "Cat",
        "\\boxed{}",
        "\\boxed{ }",
        "\\boxed{Cat",
        "\\boxed{Cat} \\boxed{ }",
        None,
        5,
        b"\\boxed{Cat}",
    ],
)
def test_no_or_an_empty_box_costs_a_turn_and_does_not_end_the_game(action: Any) -> None:
    """It is malformed, for -0.2."""
    env = begun(max_turns=2)
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info) == (-0.2, False, False, {"turn": 1, "action_status": "malformed"})
    assert env.step(action)[1:4] == (-0.2, True, True)


@pytest.mark.parametrize(
    ("last", "reward"), [("Cat", -0.05), ("Moon", -0.2), ("", -0.2), ("<PREV_PAGE>", -0.05), ("Zebra", 1.0)]
)
def test_the_last_turn_keeps_its_reward(last: str, reward: float) -> None:
    """Out of turns, by whatever action: terminated and truncated, and not for free; a win is no truncation."""
    env = begun("freenav", max_turns=3, target="Zebra")
    go(env, "Africa", "<PREV_PAGE>")
    if last == "<PREV_PAGE>":
        env = begun("freenav", max_turns=2, target="Zebra")
        go(env, "Africa")
    result = go(env, last)[0]
    assert result[1:4] == (reward, True, reward < 1)
    assert result[4]["success"] == (reward == 1)


def test_noregrets_has_no_way_back() -> None:
    """Going back costs 0.2 and leaves the agent where it is."""
    env = begun()
    assert rewards(env, "Cat", "<PREV_PAGE>") == [-0.05, -0.2]
    assert current(env) == "Cat"


def test_oneback_goes_back_once_in_a_row() -> None:
    """A second way back in a row is refused, also after an illegal move; after a step forward it is there again."""
    env = begun("oneback")
    back = "<PREV_PAGE>"
    assert rewards(env, back) == [-0.2]
    assert rewards(env, "Cat", "Wheat", back) == [-0.05, -0.05, -0.05]
    assert current(env) == "Cat"
    assert rewards(env, back, "Moon", back) == [-0.2, -0.2, -0.2]
    assert rewards(env, "Mouse", back) == [-0.05, -0.05]
    assert current(env) == "Cat"


def test_freenav_goes_back_to_the_start() -> None:
    """Every step back goes one page further, until there is no history."""
    env = begun("freenav")
    go(env, "Cat", "Wheat", "China")
    seen = []
    for _ in range(4):
        reward = rewards(env, "<PREV_PAGE>")[0]
        seen.append((reward, current(env)))
    assert seen == [(-0.05, "Wheat"), (-0.05, "Cat"), (-0.05, "Lion"), (-0.2, "Lion")]


def test_eidetic_accepts_every_title_seen_in_this_episode() -> None:
    """Pages visited and links seen can be gone to; the target only if it was seen as a link, and nothing else."""
    env = begun("eidetic", target="Wheat")
    assert rewards(env, "Wheat", "Zebra", "Cat") == [-0.2, -0.05, -0.05]
    assert rewards(env, "Tanzania", "Lion", "<PREV_PAGE>", "Moon") == [-0.05, -0.05, -0.2, -0.2]
    assert rewards(env, "Wheat") == [1.0]


def test_eidetic_memory_ends_with_the_episode() -> None:
    """Titles of an earlier episode are unknown in the next one."""
    env = begun("eidetic")
    assert rewards(env, "Cat") == [-0.05]
    env.reset(options={"start": "Moon", "target": TARGET})
    assert rewards(env, "Cat") == [-0.2]


@pytest.mark.parametrize(
    ("length", "unit", "summary"),
    [
        (9, "characters", "One. Two…"),
        (10, "characters", "One. Two t…"),
        (16, "characters", "One. Two three!"),
        (15, "characters", "One. Two three!"),
        (2, "words", "One. Two …"),
        (3, "words", "One. Two three!"),
        (1, "sentences", "One."),
        (5, "sentences", "One. Two three!"),
    ],
)
def test_summaries_have_the_length_that_was_asked_for(length: int, unit: str, summary: str) -> None:
    """So many characters, words or sentences."""
    assert summarize("One. Two three!", length, unit) == summary


def test_the_summary_length_can_be_chosen() -> None:
    """It holds for the page and for the target; a list, as in TOML, will do."""
    env = WikiGameEnv(page_summary_length=[1, "sentences"])
    observation, _ = env.reset(options={"start": START, "target": TARGET})
    assert "\nThe lion is a big cat that hunts zebras in groups on the plains of Africa.\nLinks:" in observation
    assert "About the target page: Chess is a board game of two armies that comes from India by way of Iran.\n" in (
        observation
    )


@pytest.mark.parametrize(
    "kwargs",
    [
        {"max_turns": 0},
        {"max_turns": "random"},
        {"variant": "regrets"},
        {"backend": "wikipedia"},
        {"backend": None},
        {"trawler_kwargs": {"url": "http://localhost"}},
        {"trawler_kwargs": []},
        {"page_summary_length": 100},
        {"page_summary_length": (100,)},
        {"page_summary_length": (0, "characters")},
        {"page_summary_length": (10**9, "words")},
        {"page_summary_length": (True, "words")},
        {"page_summary_length": (5, "letters")},
        {"page_summary_length": "ab"},
        {"max_turn": 3},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """With an error of GEM."""
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        WikiGameEnv(**kwargs)


@pytest.mark.parametrize(
    "options",
    [
        {"start": "Lion"},
        {"start": "Lion", "target": "Chess", "turns": 5},
        {"start": "Lion", "target": "lion"},
        {"start": "Lionn", "target": "Chess"},
        {"start": "Lion", "target": 5},
        {1: 2},
        ["start", "target"],
        5,
    ],
)
def test_impossible_options_are_refused(options: Any) -> None:
    """With an error of GEM, and the next reset without options draws again."""
    env = WikiGameEnv()
    with pytest.raises(GemError):
        env.reset(options=options)
    first = env.reset(seed=1)
    assert env.reset(seed=1) == first


def test_an_unknown_page_is_answered_with_the_nearest() -> None:
    """A slip in a title is easy to mend."""
    with pytest.raises(ArgumentError, match="did you mean 'Lion'"):
        WikiGameEnv().reset(options={"start": "Lionn", "target": "Chess"})


def test_nothing_happens_before_the_first_reset() -> None:
    """The constructor begins no episode."""
    assert WikiGameEnv().get_state()["episode"] is None


@pytest.mark.parametrize("variant", ["noregrets", "oneback", "freenav", "eidetic"])
@pytest.mark.parametrize("max_turns", [2, 15, 30])
def test_policy_takes_a_shortest_way(variant: str, max_turns: int) -> None:
    """The reference policy always arrives, in as few steps as the distance is."""
    env, policy = WikiGameEnv(max_turns=max_turns, variant=variant), WikiGamePolicy()
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        state = env.get_state()["episode"]
        title, steps = state["page"][0], 0
        while title != state["target"][0]:
            title = encyclopedia().next_link(title, state["target"][0])
            steps += 1
        total, terminated = 0.0, False
        while not terminated:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total += reward
        assert (info["turn"], truncated, info["success"]) == (steps, False, True)
        assert total == pytest.approx(1.05 - 0.05 * steps)


def test_the_mean_return_is_the_declared_one() -> None:
    """Over 1,000 seeds, the reference policy comes within 0.005 of the manifest."""
    env, policy, total = WikiGameEnv(), WikiGamePolicy(), 0.0
    for seed in range(1000):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        terminated = False
        while not terminated:
            observation, reward, terminated, _, info = env.step(policy.act(observation, info))
            total += reward
    assert total / 1000 == pytest.approx(0.847, abs=0.005)


def test_a_game_survives_pickling() -> None:
    """In mid-episode, with its history."""
    env = begun("freenav")
    go(env, "Cat", "Wheat")
    twin = pickle.loads(pickle.dumps(env))
    assert twin.get_state() == env.get_state()
    assert go(twin, "<PREV_PAGE>") == go(env, "<PREV_PAGE>")


@given(st.sampled_from(["noregrets", "oneback", "freenav", "eidetic"]), st.lists(st.integers(0, 30), max_size=12))
def test_state_continues_in_every_variant(variant: str, choices: list[int]) -> None:
    """After any moves, a game set to the state shows the same answers, also to a step back."""
    env, twin = begun(variant, max_turns=50), WikiGameEnv(max_turns=50, variant=variant)
    for number in choices:
        links = env.get_state()["episode"]["page"][2]
        title = "<PREV_PAGE>" if number % 5 == 0 else links[number % len(links)]
        if go(env, title)[0][2]:
            return
    twin.set_state(json.loads(json.dumps(env.get_state())))
    assert twin.get_state() == env.get_state()
    for title in ("<PREV_PAGE>", "Cat", "<PREV_PAGE>"):
        assert go(twin, title) == go(env, title)


@pytest.mark.parametrize(
    "change",
    [
        {"page": ["Lion", "Another text.", ["Cat"]]},
        {"page": ["No such page", "", []]},
        {"page": ["", "", []]},
        {"page": "Lion"},
        {"target": ["Lion", "", []]},
        {"past": [["Lion", "", []]]},
        {"past": [["Lion"]]},
        {"seen": ["Lion"]},
        {"seen": 5},
    ],
)
def test_impossible_states_are_refused(change: dict[str, Any]) -> None:
    """Pages that the encyclopedia does not have, or a memory that the variant does not, raise StateError."""
    env = begun()
    go(env, "Cat")
    assert_refused(env, change)


def test_a_history_that_the_variant_does_not_keep_is_refused() -> None:
    """A state of a freenav game is none of a oneback or noregrets game."""
    env = begun("freenav")
    go(env, "Cat", "Wheat")
    for variant in ("oneback", "noregrets", "eidetic"):
        with pytest.raises(StateError):
            WikiGameEnv(variant=variant).set_state(env.get_state())


def test_a_lenient_game_leaves_titles_alone() -> None:
    """Commas and capitals are part of a title; only the LaTeX around it goes, and the instructions say no more."""
    env = WikiGameEnv(lenient=True)
    assert env.form.read("\\boxed{\\text{Washington, D.C.}}") == "Washington, D.C."
    assert WikiGameEnv().form.read("\\boxed{\\text{Lion}}") == "\\text{Lion}"
    rules, _ = env.reset(seed=0)
    assert "costs more. \\text{} around a title makes no difference.\n\n" in rules
