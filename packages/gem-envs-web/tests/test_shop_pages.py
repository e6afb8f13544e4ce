"""The pages of the shop, and the ways between them."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gem
from gem_envs_web.shop.env import ShopEnv
from gem_envs_web.shop.pages import ShopView, bought_page, page_of


def shop(**kwargs: Any) -> ShopEnv:
    """Return a small shop at the beginning of an episode."""
    env = gem.make("web:Shop-v0", products=600, lookalikes=1, **kwargs)
    env.reset(seed=1)
    assert isinstance(env, ShopEnv)
    return env


def page(env: ShopEnv) -> list[str]:
    """Return the texts of the page that the agent sees."""
    return env._board().split(" [SEP] ")


def test_the_first_page_shows_the_wish_and_the_search() -> None:
    """Its texts are those of the original, separated as there."""
    env = shop()
    assert page(env) == ["WebShop", "Instruction:", env.wish.instruction, "Search"]


def test_a_search_shows_ten_products_a_page_and_fifty_in_all() -> None:
    """Number, name and price of each; "< Prev" from the second page on, and "Next >" even on the last."""
    env = shop()
    seen: list[str] = []
    env.step("search[table lamp in black or silver]")
    for number in range(1, 7):
        texts = page(env)
        assert texts[:3] == ["Instruction:", env.wish.instruction, "Back to Search"]
        assert texts[3] == f"Page {number} (Total results: 50)"
        buttons = ["Next >"] if number == 1 else ["< Prev", "Next >"]
        assert texts[4 : 4 + len(buttons)] == buttons
        products = texts[4 + len(buttons) :]
        assert len(products) == (30 if number < 6 else 0)
        seen += products[::3]
        for asin, name, price in zip(products[::3], products[1::3], products[2::3], strict=True):
            found = env.shop.product(asin)
            assert (name, price) == (found.name, found.price_text)
        env.step("click[next >]")
    assert len({*seen}) == 50
    env.step("click[< prev]")
    assert "Page 6 (Total results: 50)" in page(env)


def test_a_product_shows_options_price_and_sub_pages() -> None:
    """In the order of the original's template; the page of attributes only if asked for."""
    for show in (False, True):
        env = shop(show_attributes=show)
        env.step("search[office chair]")
        env.step(f"click[{page(env)[5]}]")
        found = env.shop.product(env._view.asin)
        options = [text for name, values in found.options.items() for text in (name, *values)]
        assert page(env)[2:] == [
            "Back to Search",
            "< Prev",
            *options,
            found.name,
            f"Price: {found.price_text}",
            f"Rating: {found.rating}",
            *("Description", "Features", "Reviews"),
            *(["Attributes"] if show else []),
            "Buy Now",
        ]
        for name, texts in {
            "Description": [found.description],
            "Features": list(found.bullets),
            "Reviews": [text for r in found.reviews for text in (f'"{r.title}"', str(r.score), r.body)],
            **(
                {"Attributes": [*found.attributes, found.category, found.query, found.product_category]} if show else {}
            ),
        }.items():
            env.step(f"click[{name}]")
            assert page(env)[2:] == ["Back to Search", "< Prev", *texts]
            env.step("click[< prev]")
            assert "Buy Now" in page(env)


def test_options_are_kept_on_sub_pages_and_forgotten_with_the_results() -> None:
    """As in the original, whose address of a product carries its options."""
    env = shop()
    env.step("search[office chair]")
    env.step(f"click[{page(env)[5].lower()}]")
    (first, values), *_ = env.shop.product(env._view.asin).options.items()
    env.step(f"click[{values[0]}]")
    env.step(f"click[{values[1]}]")
    assert dict(env._view.options) == {first: values[1]}
    env.step("click[features]")
    env.step("click[< prev]")
    assert dict(env._view.options) == {first: values[1]}
    env.step("click[< prev]")
    assert env._view == ShopView("results", "office chair")
    env.step("click[back to search]")
    assert env._view == ShopView()


def test_the_rich_text_marks_what_can_be_clicked_and_what_was() -> None:
    """The form of WebShop's text_rich."""
    env = shop(observation="text_rich")
    assert env._board() == f"WebShop\nInstruction:\n{env.wish.instruction}\n[button] Search [button_]\n"
    env.step("search[office chair]")
    asin = env.shop.search("office chair")[0]
    assert f"\n[button] {asin} [button_]\n" in env._board()
    env.step(f"click[{asin}]")
    value = next(iter(env.shop.product(asin).options.values()))[0]
    assert f"  [button] {value} [button_]\n" in env._board()
    env.step(f"click[{value}]")
    assert env._board().startswith(f"You have clicked {value}.\nInstruction:\n")
    assert f"  [clicked button] {value} [clicked button_]\n" in env._board()
    other = [*env.shop.product(asin).options.values()][1][0]
    env.step(f"click[{other}]")
    assert env._board().startswith(f"You have clicked {other}.\nYou have clicked {value}.\n")
    env.step("click[< prev]")
    assert f"\n[clicked button] {asin} [clicked button_]\n" in env._board()


@pytest.mark.parametrize(
    ("action", "read"),
    [
        ("search[red shoes]", (True, "red shoes")),
        ("Thought: it fits.\nAction: click[Buy Now]", (False, "buy now")),
        ("click[a] or rather click[ B ]", (False, "b")),
        ("SEARCH[X]", (True, "x")),
        ("search[first] click[]", (True, "first")),
        ("search[]", None),
        ("search[two\nlines]", None),
        ("click(buy now)", None),
        ("", None),
    ],
)
def test_the_last_action_in_a_text_counts(action: str, read: tuple[bool, str] | None) -> None:
    """A model may reason before it acts."""
    assert ShopEnv.form.read(action) == read


def test_what_cannot_be_clicked_costs_a_turn_and_nothing_else() -> None:
    """Also an action that is none, and a click on the search itself, as in the original."""
    env = shop()
    before = env._board()
    for action in ("click[buy now]", "click[search]", "no action", "click[next >]"):
        observation, reward, terminated, _, info = env.step(action)
        assert (reward, terminated) == (0.0, False)
        assert info["action_status"] in ("illegal", "malformed")
        assert before in observation
    assert info["turn"] == 4


def test_a_search_works_from_every_page() -> None:
    """The original takes it where no search field is shown."""
    env = shop()
    env.step("search[office chair]")
    env.step(f"click[{page(env)[5]}]")
    env.step("search[table lamp]")
    assert env._view == ShopView("results", "table lamp")


def test_an_option_of_two_groups_is_chosen_in_the_last() -> None:
    """A click names only the value, and the original's later group wins."""
    env = shop()
    asin = env.shop.search("office chair")[0]
    original = env.shop.product(asin)

    class Twice:
        def product(self, asin: str) -> Any:
            return original._replace(options={"one": ["same", "a"], "two": ["b", "same"]})

    found = page_of(Twice(), ShopView("item", "x", 1, asin), "wish")  # type: ignore[arg-type]
    element = found.clickable()["same"]
    assert element.leads_to is not None
    assert element.leads_to.options == (("two", "same"),)


def test_the_last_page_shows_the_score() -> None:
    """With the words of the original."""
    assert bought_page(ShopView("done"), 0.75).text() == (
        "Thank you for shopping with us! [SEP] Your score (min 0.0, max 1.0) [SEP] 0.75"
    )


def test_the_instructions_name_actions_that_the_form_reads() -> None:
    """Each example of an action that they give is one."""
    observation, _ = gem.make("web:Shop-v0", products=300).reset(seed=1)
    examples = re.findall(r"(?:click|search)\[[^\]]+\]", observation)
    assert len(examples) >= 5
    assert all(ShopEnv.form.read(example) for example in examples)
