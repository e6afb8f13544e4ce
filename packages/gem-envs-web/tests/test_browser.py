"""The websites and MiniWoB in a real Chromium."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, NotSupportedError
from gem_envs_web.browser.chromium import BROWSER_NAMES, PageNode
from gem_envs_web.browser.env import BrowserEnv
from gem_envs_web.browser.miniwob import MiniWobEnv, miniwob_tasks
from gem_envs_web.browser.policy import BrowserPolicy
from gem_envs_web.shop.env import ShopEnv

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.xdist_group("chromium"),
    pytest.mark.skipif(
        not any(map(shutil.which, BROWSER_NAMES)) or not shutil.which("chromedriver") or find_spec("selenium") is None,
        reason="opens pages in a browser: install chromium, chromium-driver and selenium",
    ),
]
needs_miniwob = pytest.mark.skipif(find_spec("miniwob") is None, reason="plays MiniWoB: install miniwob")


@pytest.fixture
def browser() -> Iterator[Callable[..., Any]]:
    """Return a function that makes environments, which end with the test."""
    made: list[gem.Env[Any, Any]] = []

    def make(env_id: str, **kwargs: Any) -> Any:
        made.append(gem.make(env_id, **kwargs))
        return made[-1].unwrapped

    yield make
    for env in made:
        env.close()


def node(env: Any, name: str, *roles: str) -> PageNode:
    """Return the element with a name, or with a name that begins with it and a colon."""
    for one in env.elements:
        if (one.name == name or one.name.startswith(f"{name}:")) and (not roles or one.role in roles):
            return one
    raise AssertionError((name, [one.line() for one in env.elements]))


class Played:
    """An episode in a browser, acted on by names of elements."""

    def __init__(self, env: BrowserEnv, seed: int) -> None:
        self.env = env
        self.observations = [env.reset(seed=seed)[0]]
        self.reward, self.over = 0.0, False

    def do(self, action: str) -> None:
        observation, self.reward, terminated, truncated, info = self.env.step(action)
        assert info["action_status"] == "legal", observation
        self.observations.append(observation)
        self.over = terminated or truncated

    def click(self, name: str, *roles: str) -> None:
        self.do(f"click[{node(self.env, name, *roles).ref}]")


def finished(env: BrowserEnv, seed: int) -> Played:
    """Play an episode with the reference policy; each of its actions is possible."""
    policy = BrowserPolicy(env)
    played = Played(env, seed)
    policy.reset("", {})
    while not played.over:
        played.do(policy.act("", {}))
    return played


def shop(env: BrowserEnv, seed: int) -> Played:
    """Buy what the instruction asks for, with a detour and the browser's way back."""
    played = Played(env, seed)
    world = env.world
    assert isinstance(world, ShopEnv)
    wish = world.wish
    played.do(f"type[{node(env, 'Search').ref}][{wish.name}]")
    played.click("Search", "button")
    played.click(wish.asin)
    for option in wish.options:
        played.click(option)
    played.click("Features")
    played.do("click[back]")
    played.click("Buy Now", "button")
    return played


def test_forms_are_filled_in(browser: Callable[..., Any]) -> None:
    """On every level; the reward is that of the text environment."""
    for world in ("web:Form-v0-easy", "web:Form-v0", "web:Form-v0-hard"):
        env = browser("web:Browser-v0", world=world)
        for seed in range(2):
            assert finished(env, seed).reward == 1.0
        env.close()


def test_forum_tasks_are_fulfilled(browser: Callable[..., Any]) -> None:
    """By links, buttons, fields, lists and the search."""
    for world in ("web:Forum-v0-easy", "web:Forum-v0-hard"):
        env = browser("web:Browser-v0", world=world)
        for seed in range(4):
            assert finished(env, seed).reward == 1.0
        env.close()


def test_the_shop_sells(browser: Callable[..., Any]) -> None:
    """What is bought earns WebShop's reward."""
    env = browser("web:Browser-v0", world="web:Shop-v0-easy", world_kwargs={"products": 300})
    for seed in range(3):
        assert shop(env, seed).reward == 1.0
        assert finished(env, seed).reward == 1.0


@pytest.mark.parametrize("observation", ["text", "html", "axtree", "screenshot"])
def test_a_seed_gives_the_same_observations(browser: Callable[..., Any], observation: str) -> None:
    """In two browsers at once, with two episodes of one server; secret addresses are in none of them."""
    envs = [browser("web:Browser-v0", world="web:Form-v0-easy", observation=observation) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        episodes = list(pool.map(lambda env: finished(env, 3).observations, envs))
    assert episodes[0] == episodes[1]
    key = envs[0]._base.strip("/")
    assert len(key) > 20
    assert all(key not in str(one) for one in episodes[0])


def test_every_observation_shows_the_page(browser: Callable[..., Any]) -> None:
    """Fields, their values and buttons, with the numbers that actions take."""
    for observation in ("text", "html", "axtree"):
        env = browser("web:Browser-v0", world="web:Form-v0-easy", observation=observation)
        env.reset(seed=1)
        field = next(one for one in env.elements if one.role == "field")
        text, *_ = env.step(f"type[{field.ref}][Zoë]")
        button = node(env, "Send")
        if observation == "html":
            assert f'data-ref="{button.ref}"' in text
        else:
            assert f'[{button.ref}] button "Send"' in text
            assert 'value "Zoë"' in text
        assert field.name in text
        env.close()
    env = browser("web:Browser-v0", world="web:Form-v0-easy", observation="screenshot")
    (words, picture), _ = env.reset(seed=1)
    assert '"Send"' in words["text"]
    before = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
    assert before.startswith(b"\x89PNG")
    (_, picture), *_ = env.step(f"type[{field.ref}][Zoë]")
    assert base64.b64decode(picture["image_url"]["url"].partition(",")[2]) != before


def test_impossible_actions_cost_a_turn(browser: Callable[..., Any]) -> None:
    """Numbers that are not there, texts into buttons, options that are not offered, answers that nobody asked for."""
    env = browser("web:Browser-v0", world="web:Form-v0-easy")
    env.reset(seed=1)
    button = node(env, "Send").ref
    for action in ("click[99]", f"type[{button}][x]", f"select[{button}][x]", "answer[1]"):
        _, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    with pytest.raises(NotSupportedError):
        env.get_state()


def test_random_play_goes_on(browser: Callable[..., Any]) -> None:
    """Sampled actions are possible, whatever page they lead to."""
    for world in ("web:Form-v0", "web:Forum-v0", "web:Shop-v0-easy"):
        env = browser("web:Browser-v0", world=world, max_turns=25)
        env.reset(seed=2)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.sample_random_action())
            assert reward < 1.0
            assert "error" not in info, info
            over = terminated or truncated
        env.close()


def solve_checkboxes(env: MiniWobEnv) -> Iterator[str]:
    names = re.match(r"Select (.*) and click Submit", env.utterance)
    assert names is not None
    for name in names[1].split(", "):
        if name != "nothing":
            yield f"click[{node(env, name, 'checkbox').ref}]"
    yield f"click[{node(env, 'Submit').ref}]"


def solve_text(env: MiniWobEnv) -> Iterator[str]:
    yield f"type[{next(one.ref for one in env.elements if one.role == 'field')}][{env.utterance.split(chr(34))[1]}]"
    yield f"click[{node(env, 'Submit').ref}]"


def solve_list(env: MiniWobEnv) -> Iterator[str]:
    wanted = re.match(r"Select (.*) from the list", env.utterance)
    assert wanted is not None
    yield f"select[{next(one.ref for one in env.elements if one.role == 'select')}][{wanted[1]}]"
    yield f"click[{node(env, 'Submit').ref}]"


def solve_button(env: MiniWobEnv) -> Iterator[str]:
    yield f"click[{node(env, env.utterance.split(chr(34))[1], 'button').ref}]"


def solve_sequence(env: MiniWobEnv) -> Iterator[str]:
    for name in ("ONE", "TWO"):
        yield f"click[{node(env, name).ref}]"


def solve_option(env: MiniWobEnv) -> Iterator[str]:
    wanted = re.match(r"Select (.*) and click Submit", env.utterance)
    assert wanted is not None
    yield f"click[{node(env, wanted[1], 'radio').ref}]"
    yield f"click[{node(env, 'Submit').ref}]"


def solve_link(env: MiniWobEnv) -> Iterator[str]:
    yield f"click[{node(env, env.utterance.split(chr(34))[1]).ref}]"


SOLVERS = {
    "click-button": solve_button,
    "click-button-sequence": solve_sequence,
    "click-checkboxes": solve_checkboxes,
    "click-link": solve_link,
    "click-option": solve_option,
    "choose-list": solve_list,
    "enter-text": solve_text,
}


@needs_miniwob
@pytest.mark.parametrize("task", SOLVERS)
def test_a_task_of_miniwob_is_solved(browser: Callable[..., Any], task: str) -> None:
    """Of five seeds all, with the page's own reward; a seed gives one page, and seeds give different ones."""
    env = browser("web:MiniWoB-v0", task=task)
    first = [env.reset(seed=seed)[0] for seed in range(5)]
    assert len({*first}) > 3 or task == "click-button-sequence"
    for seed in range(5):
        assert env.reset(seed=seed)[0] == first[seed]
        for action in SOLVERS[task](env):
            _, reward, terminated, _, info = env.step(action)
            assert info["action_status"] == "legal"
        assert (reward, terminated, info["success"]) == (1.0, True, True)


@needs_miniwob
def test_a_wrong_click_earns_nothing(browser: Callable[..., Any]) -> None:
    """The page ends the episode with its negative reward, which counts as 0.0."""
    env = browser("web:MiniWoB-v0", task="click-button-sequence")
    env.reset(seed=0)
    env.step(f"click[{node(env, 'TWO').ref}]")
    _, reward, terminated, _, info = env.step(f"click[{node(env, 'ONE').ref}]")
    assert (reward, terminated, info["success"]) == (0.0, True, False)


@needs_miniwob
def test_a_seed_gives_the_problem_of_the_library(browser: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The published client, which drives a Chromium of its own, shows the same instruction for a seed of the page."""
    found = next(filter(None, map(shutil.which, BROWSER_NAMES)))
    monkeypatch.setenv("MINIWOB_CHROME_BINARY", found)
    monkeypatch.setenv("MINIWOB_CHROMEDRIVER", shutil.which("chromedriver") or "")
    from miniwob.selenium_instance import SeleniumInstance

    env = browser("web:MiniWoB-v0", task="click-checkboxes")
    theirs = SeleniumInstance(0, "click-checkboxes", headless=True)
    theirs.create_driver()
    try:
        for seed in ("7", "8"):
            env.reset(options={"page_seed": seed})
            observations: list[Any] = [None]
            theirs.reset(observations, [None], seed)
            assert observations[0]["utterance"] == env.utterance
    finally:
        theirs.close()


@needs_miniwob
def test_every_task_of_miniwob_begins(browser: Callable[..., Any]) -> None:
    """With an instruction, and something to act on."""
    assert len(miniwob_tasks()) > 100
    window, silent = None, []
    for task in miniwob_tasks():
        env = browser("web:MiniWoB-v0", task=task)
        env._window = window  # one browser for all
        env.reset(seed=0)
        window, env._window = env._window, None
        if not env.elements or not env.utterance:
            silent.append(task)
    assert window is not None
    window.close()
    assert silent == []


@needs_miniwob
def test_unknown_tasks_are_refused() -> None:
    """By name."""
    with pytest.raises(ArgumentError, match="task must be one of"):
        gem.make("web:MiniWoB-v0", task="click-nothing")
