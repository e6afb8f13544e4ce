"""The shop and forms by screenshot and pointer: layout, pictures, actions, and what is the same as in words."""

from __future__ import annotations

import hashlib
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_web.form.env import FormEnv
from gem_envs_web.screen.env import ScreenSiteEnv
from gem_envs_web.screen.layout import HEIGHT, WIDTH, PlacedThing, ScreenThing, drawn, length, met, placed
from gem_envs_web.screen.policy import ScreenPolicy
from gem_envs_web.shop.env import ShopEnv
from gem_questions.pictures.font import HEIGHT as HEIGHT_OF_LETTERS
from gem_questions.pictures.font import glyphs

SHOP, FORM = "web:Shop-v0-easy", "web:Form-v0-easy"


def played(env: ScreenSiteEnv, seed: int) -> tuple[float, list[str], dict[str, Any]]:
    """Return the reward of an episode of the reference policy, its actions and the last info."""
    observation, info = env.reset(seed=seed)
    policy, actions = ScreenPolicy(env), []
    policy.reset(observation, info)
    for _ in range(env.max_turns):
        actions.append(policy.act(observation, info))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            return reward, actions, info
    raise AssertionError("the episode goes on after its last turn")


def click(one: PlacedThing, env: ScreenSiteEnv) -> str:
    x, y = one.centre
    return f"\\boxed{{click {x} {y - env.scroll}}}"


def told_in(observation: Any) -> str:
    return str(observation[-1]["text"])


def picture_in(observation: Any) -> str:
    return str(observation[0]["image_url"]["url"])


def thing(env: ScreenSiteEnv, text: str) -> PlacedThing:
    return next(one for one in env.things if one.thing.text == text)


@pytest.mark.parametrize("world", [SHOP, FORM])
def test_the_reference_acts_by_the_layouts_rectangles(world: str) -> None:
    """With clicks, texts and turns of the wheel alone; two episodes of each site."""
    env = ScreenSiteEnv(world, 60)
    for seed in range(2):
        reward, actions, info = played(env, seed)
        assert (reward, info["success"]) == (1.0, True)
        assert {re.split(r"[{ ]", action)[1] for action in actions} <= {"click", "type", "scroll"}


@pytest.mark.nightly
@pytest.mark.parametrize("variant", ["easy", "", "hard", "form-easy", "form", "form-hard"])
def test_the_reference_earns_more_than_095(variant: str) -> None:
    """Over 20 episodes of each level."""
    env = gem.make(f"web:Screen-v0-{variant}".rstrip("-")).unwrapped
    assert isinstance(env, ScreenSiteEnv)
    assert sum(played(env, seed)[0] for seed in range(20)) / 20 > 0.95


@pytest.mark.parametrize("world", [SHOP, FORM])
def test_pages_and_rewards_are_those_of_the_text_environment(world: str) -> None:
    """What the text environment was given in words leads to the same page, reward and end."""
    env = ScreenSiteEnv(world, 60)
    given_in_words: list[str] = []
    step = env.world.step

    def noted(action: str) -> Any:
        given_in_words.append(action)
        return step(action)

    env.world.step = noted  # type: ignore[method-assign]
    reward, _, info = played(env, 4)
    twin = gem.make(world, max_turns=200)
    twin.reset(seed=env._key)
    for action in given_in_words:
        result = twin.step(action)
    assert (result[1], result[2]) == (reward, True)
    assert result[4].get("reward_parts") == info.get("reward_parts")


ANSWERS = {
    "You click, but nothing happens.",
    "You click, and a field has the cursor.",
    "You click, and a mark on the page changes.",
    "You click, and all that happens is that no field has the cursor any longer.",
    "You click, and another page comes.",
    "You click, and the same page comes again: it was not accepted.",
    "You click, and that ends the task.",
    "You type.",
    "You type, but nothing changes.",
    "You type, but no field has the cursor.",
    "You go back, and another page comes.",
    "This is the first page: there is none to go back to.",
    *(
        f"You scroll {way}{end}"
        for way in ("down", "up")
        for end in (".", f", but the page {'ends' if way == 'down' else 'begins'} here.")
    ),
}


def answer_of(env: ScreenSiteEnv, action: str) -> str:
    """Return the answer to an action without the number of the turn and the request."""
    return re.sub(r"Turn \d+ of \d+\. |\n.*", "", told_in(env.step(f"\\boxed{{{action}}}")[0]))


def shown_in(env: ScreenSiteEnv) -> tuple[str, int, str, list[PlacedThing]]:
    world = env.world
    page = world.page.title if isinstance(world, FormEnv) else str(world.page.view._replace(options=()))
    return page, env.scroll, env.cursor, env.things


def unseen(world: str) -> ScreenSiteEnv:
    """Return an environment that draws no picture, which is nearly all that a step costs."""
    env = ScreenSiteEnv(world, 100)
    env._parts = lambda text: [{"type": "text", "text": text}]  # type: ignore[method-assign]
    return env


def some_action(env: ScreenSiteEnv, rng: random.Random) -> str:
    """Return a click on something that the screen shows, or another action."""
    seen = [one.centre for one in env.things if 0 <= one.centre[1] - env.scroll < HEIGHT]
    x, y = rng.choice(seen)
    others = ("scroll down", "scroll up", "back", "type desk", f"click {rng.randrange(WIDTH)} 440")
    return f"click {x} {y - env.scroll}" if rng.random() < 0.5 else rng.choice(others)


@pytest.mark.parametrize("world", [SHOP, FORM])
def test_an_answer_says_that_nothing_happens_exactly_when_nothing_does(world: str) -> None:
    """The screens before and after 200 actions decide; nothing of the page is said, but what an action did."""
    env, rng, first = unseen(world), random.Random(5), set()
    nothing, something = set(), set()
    for seed in range(4):
        first.add(told_in(env.reset(seed=seed)[0]))
        for _ in range(50):
            before = shown_in(env)
            answer = answer_of(env, "type desk" if env.cursor and rng.random() < 0.6 else some_action(env, rng))
            if answer == "You click, and that ends the task.":
                break
            changed = shown_in(env) != before or "comes again" in answer or "a field has" in answer
            (something if changed else nothing).add(answer)
    assert len(first) == 1
    assert nothing == {one for one in ANSWERS if " but " in one or "first page" in one}
    assert something <= ANSWERS - nothing
    assert {"You click, and a mark on the page changes.", "You type.", "You scroll down."} < something


def test_the_answer_to_a_click_says_whether_another_page_has_come() -> None:
    """The top of each page of a form is the same letter, so that the picture alone would not show it."""
    env = unseen("web:Form-v0")
    policy = ScreenPolicy(env)
    observation, info = env.reset(seed=0)
    policy.reset(observation, info)
    assert isinstance(env.world, FormEnv)
    title, first, told = env.world.page.title, env.things[0], set()
    while env.world.page.title == title:
        observation, _, _, _, info = env.step(policy.act(observation, info))
        told.add((env.world.page.title != title, "and another page comes." in told_in(observation)))
    assert told == {(False, False), (True, True)}
    assert (env.things[0], env.scroll) == (first, 0)


def test_the_answer_says_what_a_deed_did_not_do() -> None:
    """Typing without a cursor, going back from the first page, and sending a page that is not accepted."""
    env = unseen("web:Form-v0")
    env.reset(seed=0)
    assert "You type, but no field has the cursor." in told_in(env.step("\\boxed{type Bjorn}")[0])
    assert answer_of(env, "back") == "This is the first page: there is none to go back to."
    while env.scroll < env._lowest():
        env.step("\\boxed{scroll down}")
    answer = told_in(env.step(click(thing(env, "Next"), env))[0])
    assert "the same page comes again: it was not accepted." in answer
    assert any(one.thing.text.startswith("! ") for one in env.things)
    while env.scroll > 0:
        env.step("\\boxed{scroll up}")
    field = next(one for one in env.things if one.thing.field)
    while not 0 < field.centre[1] - env.scroll < HEIGHT:
        env.step("\\boxed{scroll down}")
    assert "You click, and a field has the cursor." in told_in(env.step(click(field, env))[0])
    assert answer_of(env, "type Bjorn") == "You type."
    assert answer_of(env, "type Bjorn") == "You type, but nothing changes."


def at(title: str) -> ScreenSiteEnv:
    """Return an environment whose reference has come to the page of a form whose title ends so."""
    env = unseen("web:Form-v0")
    policy = ScreenPolicy(env)
    observation, info = env.reset(seed=0)
    policy.reset(observation, info)
    assert isinstance(env.world, FormEnv)
    while not env.world.page.title.endswith(title):
        observation, _, _, _, info = env.step(policy.act(observation, info))
    return env


def test_back_leads_from_a_review_to_the_last_page_and_from_there_to_the_first() -> None:
    """A review has links to all pages, and none that is called Back."""
    env = at("review")
    assert isinstance(env.world, FormEnv)
    for title in ("page 2 of 2", "page 1 of 2"):
        assert answer_of(env, "back") == "You go back, and another page comes."
        assert env.world.page.title.endswith(title)
    assert answer_of(env, "back") == "This is the first page: there is none to go back to."


def test_a_page_that_was_not_accepted_is_shown_where_it_was() -> None:
    """Also where it comes with a further question; the answer says that it is the same page."""
    for seed in range(20):
        env = unseen("web:Form-v0")
        observation, info = env.reset(seed=seed)
        policy, more = ScreenPolicy(env), False
        policy.reset(observation, info)
        while "ends the task" not in told_in(observation):
            before, labels = env.scroll, [one.thing.field for one in env.things if one.thing.field]
            observation, _, _, _, info = env.step(policy.act(observation, info))
            if "comes again" in told_in(observation):
                assert env.scroll >= before > 0
                more = more or len([one for one in env.things if one.thing.field]) > len(labels)
        if more:
            return
    raise AssertionError("no page came again with a further question")


@pytest.mark.parametrize("letter", "gjpqy")
def test_letters_that_reach_below_the_line_do_so(letter: str) -> None:
    """Drawn within the line, a p looks like a small P and a g like a 9; every letter has a shape of its own."""
    below = [any(b"".join(lines[HEIGHT_OF_LETTERS:])) for lines in glyphs().values()]
    assert any(b"".join(glyphs()[letter][HEIGHT_OF_LETTERS:]))
    assert sum(below) == len("gjpqy")
    assert len(set(glyphs().values())) == len(glyphs())


@pytest.mark.parametrize("world", [SHOP, FORM, "web:Form-v0", "web:Form-v0-hard"])
def test_no_sign_of_a_page_is_shown_as_a_question_mark(world: str) -> None:
    """The font has each of them; a letter writes some sums with a euro sign."""
    env, signs = ScreenSiteEnv(world), set()
    for seed in range(12):
        env.reset(seed=seed)
        signs |= set(env.in_words())
    assert signs - set(" \n") <= set(glyphs())
    assert ("€" in signs) == (world != SHOP)


@pytest.mark.nightly
@pytest.mark.parametrize("world", [SHOP, FORM])
def test_a_policy_that_sees_nothing_earns_nothing(world: str) -> None:
    """Random clicks, texts and turns of the wheel, over 40 episodes."""
    env = ScreenSiteEnv(world, 40)
    for seed in range(40):
        env.reset(seed=seed)
        ended = False
        while not ended:
            _, reward, terminated, truncated, _ = env.step(env.sample_random_action())
            ended = terminated or truncated
        assert reward == 0.0


DIGESTS = {SHOP: "732fd42e781c7916", FORM: "c3ba6b3fb8d7af2b"}


@pytest.mark.parametrize("world", [SHOP, FORM])
def test_pictures_are_the_same_bytes_everywhere(world: str) -> None:
    """Of the first three screens of an episode of the reference."""
    env = ScreenSiteEnv(world, 60)
    observation, info = env.reset(seed=7)
    policy, seen = ScreenPolicy(env), hashlib.sha256()
    policy.reset(observation, info)
    for _ in range(3):
        seen.update(picture_in(observation).encode())
        observation, _, _, _, info = env.step(policy.act(observation, info))
    assert seen.hexdigest()[:16] == DIGESTS[world]


@given(
    st.lists(
        st.builds(
            ScreenThing,
            st.sampled_from(["heading", "text", "link", "button", "field", "box", "option"]),
            st.text(alphabet="ab \n→\ud800", max_size=90),
        ),
        max_size=12,
    ),
    st.integers(0, 2000),
)
def test_things_lie_on_the_page_and_apart(things: list[ScreenThing], scroll: int) -> None:
    """Each is met at its middle, and any part of the page can be drawn."""
    found = placed(things)
    assert [one.thing for one in found] == things
    for number, one in enumerate(found):
        assert 0 <= one.left <= WIDTH - one.width
        assert one.top + one.height <= length(found)
        if one.width > 0:
            assert met(found, *one.centre) is one.thing
        for other in found[:number]:
            beside = one.left >= other.left + other.width
            assert beside or one.top >= other.top + other.height
    png = drawn(found, min(scroll, max(length(found) - HEIGHT, 0)), "").png()
    assert png.startswith(b"\x89PNG")


def test_a_click_meets_what_the_screen_shows_after_scrolling() -> None:
    """Pixels are those of the screen; a click beside everything takes the cursor away."""
    env = ScreenSiteEnv(FORM)
    env.reset(seed=0)
    send = next(one for one in env.things if one.thing.kind == "button")
    assert send.top > HEIGHT
    env.step("\\boxed{scroll down}")
    field = next(one for one in env.things if one.thing.field and env.scroll <= one.centre[1] < env.scroll + HEIGHT)
    env.step(click(field, env))
    assert env.cursor == field.thing.field
    env.step("\\boxed{type Ada Holm}")
    assert isinstance(env.world, FormEnv)
    assert "Ada Holm" in env.world.typed.values()
    env.step(f"\\boxed{{click {WIDTH - 1} 0}}")
    assert env.cursor == ""
    env.step("\\boxed{type nothing}")
    assert "nothing" not in env.world.typed.values()


def test_what_is_typed_is_no_action_of_the_text_environment() -> None:
    """A text that looks like one is the content of the field."""
    env = ScreenSiteEnv(FORM)
    env.reset(seed=0)
    assert isinstance(env.world, FormEnv)
    env.step(click(next(one for one in env.things if one.thing.field), env))
    env.step("\\boxed{type a] click[Send]}")
    assert "a  click Send" in env.world.typed.values()
    assert not env.world.site.changes


def test_a_search_needs_the_cursor_and_the_button_and_back_goes_back() -> None:
    """What is typed without the cursor is lost; an empty search does nothing."""
    env = ScreenSiteEnv(SHOP)
    env.reset(seed=0)
    assert isinstance(env.world, ShopEnv)
    env.step("\\boxed{type lamp}")
    env.step(click(thing(env, "Search"), env))
    assert env.world.page.view.page == "search"
    env.step(click(next(one for one in env.things if one.thing.field), env))
    env.step("\\boxed{ Type  Desk [lamp] }")
    env.step(click(thing(env, "Search"), env))
    assert env.world.page.view.query == "desk  lamp"
    assert env.step("\\boxed{back}")[1] == 0.0
    assert env.world.page.view.page == "search"


def test_another_page_is_shown_from_its_top_and_a_purchase_pays_what_it_is_worth() -> None:
    """A result from further down the page, bought without its options, is worth a part."""
    env = ScreenSiteEnv(SHOP)
    env.reset(seed=3)
    assert isinstance(env.world, ShopEnv)
    env.step(click(next(one for one in env.things if one.thing.field), env))
    env.step(f"\\boxed{{type {env.world.wish.instruction[:150]}}}")
    env.step(click(thing(env, "Search"), env))
    env.step("\\boxed{scroll down}")
    assert env.scroll > 0
    shown = [one for one in env.things if one.thing.kind == "link" and one.top >= env.scroll]
    env.step(click(shown[0], env))
    assert (env.world.page.view.page, env.scroll) == ("item", 0)
    worth = env.world.score(env.world.page.view).total
    while thing(env, "Buy Now").centre[1] >= env.scroll + HEIGHT:
        env.step("\\boxed{scroll down}")
    observation, reward, terminated, _, info = env.step(click(thing(env, "Buy Now"), env))
    assert (reward, terminated, info["success"], info["reward_parts"]["total"]) == (worth, True, False, worth)
    assert len(observation) == 1


@pytest.mark.parametrize(
    "action",
    [
        *("click 10 10", "\\boxed{click}", "\\boxed{click 1 2 3}", "\\boxed{scroll left}", "\\boxed{type }"),
        "\\boxed{}",
        *("x" * 100_000, "\\boxed{click -1 5}", f"\\boxed{{click {'9' * 5000} 1}}", "\\boxed{type {a}}", "\ud800"),
        "\\boxed{click 12345 1}",
    ],
)
def test_an_action_without_a_move_changes_nothing_and_costs_its_turn(action: str) -> None:
    """Whatever a model writes."""
    env = ScreenSiteEnv(SHOP, 5)
    before, _ = env.reset(seed=1)
    after, reward, terminated, _, info = env.step(action)
    assert (picture_in(after), reward, terminated, info["turn"]) == (picture_in(before), 0.0, False, 1)
    assert info["action_status"] == "malformed"
    assert "a click with two numbers, type with words, scroll with down or up, or back." in told_in(after)


def test_a_pixel_beside_the_screen_is_said_to_be_none() -> None:
    """With the size of the screen."""
    env = ScreenSiteEnv(SHOP)
    env.reset(seed=1)
    observation, _, _, _, info = env.step("\\boxed{click 640 3}")
    assert "There is no pixel 640 3: the screen has 640 by 480." in told_in(observation)
    assert info["action_status"] == "illegal"


@pytest.mark.parametrize("world", [SHOP, FORM])
def test_an_episode_goes_on_from_its_state(world: str) -> None:
    """Through JSON, with scroll, cursor and what was typed; the last screens are the same bytes."""
    env, twin = ScreenSiteEnv(world), ScreenSiteEnv(world)
    env.reset(seed=5)
    for action in ("scroll down", "click 300 300", "type lamp", "scroll up"):
        env.step(f"\\boxed{{{action}}}")
    state = json.loads(json.dumps(env.get_state()))
    twin.set_state(state)
    for action in ("click 300 200", "type desk", "scroll down", "back"):
        assert twin.step(f"\\boxed{{{action}}}") == env.step(f"\\boxed{{{action}}}")
    state["episode"]["_scroll"] = 10**6
    with pytest.raises(StateError):
        twin.set_state(state)


@pytest.mark.parametrize("world", ["web:Forum-v0", "game:Sudoku-v0"])
def test_only_shops_and_forms_have_a_screen(world: str) -> None:
    """The error names what was given."""
    with pytest.raises(ArgumentError, match=world):
        ScreenSiteEnv(world)
