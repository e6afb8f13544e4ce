"""The reward of a purchase: that of WebShop, to the last digit."""

from __future__ import annotations

import importlib.util
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gem_envs_web.shop.catalogue import catalogue_of
from gem_envs_web.shop.goals import GeneratedShop
from gem_envs_web.shop.goods import goods
from gem_envs_web.shop.listing import ShopGoal, ShopProduct
from gem_envs_web.shop.reward import alike, matched_attributes, matched_options, purchase_reward, type_reward

CATALOGUE = catalogue_of(world_seed=3, size=600, lookalikes=3)
LEVELS = [
    GeneratedShop(CATALOGUE, attributes, hidden, options, tight, split)
    for attributes, hidden, options, tight, split in (
        (1, 0, 1, False, "train"),
        (2, 1, 2, False, "test"),
        (3, 2, 3, True, "train"),
    )
]
ODD_ATTRIBUTES = ("easy", "resistant water", "free", "Free", "café latte", "machine wash", "ultra-soft!", "non slip")
NOUNS = sorted(goods().nouns)


def published() -> Callable[..., float]:
    """Return the independent computation, from the file beside this one."""
    spec = importlib.util.spec_from_file_location("published_reward", Path(__file__).with_name("published_reward.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., float] = module.published_reward
    return found


def random_pair(rng: random.Random) -> tuple[ShopGoal, ShopProduct, dict[str, str]]:
    """Return a goal and a purchase: often a related product, sometimes with names and attributes that match in part."""
    goal = rng.choice(LEVELS).goal(rng.getrandbits(48))
    wanted = list(goal.options)
    if rng.random() < 0.5:
        names = rng.sample(sorted(CATALOGUE.product(goal.asin).options), len(wanted))
        goal = goal._replace(options=dict(zip(names, wanted, strict=True)))
    product = CATALOGUE.product(goal.asin)
    if rng.random() < 0.6:
        same = [CATALOGUE.product(asin) for asin in CATALOGUE.search(goal.query)[:12]]
        product = rng.choice([*same, CATALOGUE.product_number(rng.randrange(600))])
    if rng.random() < 0.3:
        product = product._replace(name=" ".join(rng.choices(NOUNS, k=rng.randint(1, 4))))
        own = rng.choices([*NOUNS, *product.name.split() * 20, *["very"] * 200], k=rng.randint(1, 14))
        goal = goal._replace(name=" ".join(own))
    if rng.random() < 0.3:
        product = product._replace(query="other", product_category=f"{product.product_category.split('›')[0]} › other")
    if rng.random() < 0.2:
        goal = goal._replace(attributes=tuple(rng.choices(ODD_ATTRIBUTES, k=len(goal.attributes))))
    if rng.random() < 0.2:
        product = product._replace(price=goal.price_upper + rng.choice((-0.01, 0.0, 0.01)))
    chosen = {name: rng.choice(values) for name, values in product.options.items() if rng.random() < 0.8}
    if rng.random() < 0.4:
        chosen["extra"] = rng.choice(wanted)
    return goal, product, chosen


def agreed(count: int, seed: int) -> Counter[float]:
    """Compare both computations on this number of pairs; return how often each reward came."""
    reference, rng = published(), random.Random(seed)
    rewards: Counter[float] = Counter()
    for _ in range(count):
        goal, product, chosen = random_pair(rng)
        bought: dict[str, Any] = {
            "name": product.name,
            "title": product.name,
            "query": product.query,
            "path": product.product_category,
            "attributes": product.attributes,
            "bullets": product.bullets,
            "description": product.description,
        }
        wish: dict[str, Any] = {
            "name": goal.name,
            "query": goal.query,
            "path": goal.product_category,
            "attributes": goal.attributes,
            "options": goal.options,
            "limit": goal.price_upper,
        }
        expected = reference(bought, wish, product.price, list(chosen.values()), CATALOGUE.nouns)
        found = purchase_reward(product, goal, chosen, CATALOGUE.nouns).total
        assert found == pytest.approx(expected, abs=1e-12), (goal, product, chosen)
        rewards[round(found, 3)] += 1
    return rewards


def test_the_reward_agrees_with_an_independent_computation() -> None:
    """On 800 pairs of a goal and a purchase, of which no reward makes up more than a quarter."""
    rewards = agreed(800, seed=1)
    assert len(rewards) > 12
    assert max(rewards.values()) < 200


@pytest.mark.nightly
def test_the_reward_agrees_on_ten_thousand_pairs() -> None:
    """And on 10,000 others."""
    assert len(agreed(10_000, seed=2)) > 15


def product(**fields: Any) -> ShopProduct:
    """Return a product with some fields."""
    plain = ShopProduct("B000000001", "lamp", "lamp", "home", "a › b › c", 9.5, "$9.50", {}, (), (), "", (), "4.0")
    return plain._replace(**fields)


def goal(**fields: Any) -> ShopGoal:
    """Return a goal with some fields."""
    return ShopGoal("", "B000000001", "lamp", "lamp", "a › b › c", ("bright",), (), 10.0)._replace(**fields)


@pytest.mark.parametrize(
    ("own", "wanted", "expected"),
    [
        ("table lamp", "table lamp", 1.0),
        ("table lamp", "x x x x x x x lamp sofa rug bed", 1.0),  # 1 of 4
        ("lamp", "lamp sofa rug bed chair desk", 0.5),  # 1 of 6
        ("lamp", "lamp sofa rug bed chair desk table mug pan pot cup", 0.1),  # 1 of 11
        ("lamp", "sofa", 0.0),
        ("lamp", "xx yy", 0.5),  # no noun to compare: 0.2, which is not above 0.2
        ("lamp", "lamp lamp lamp lamp sofa sofa", 0.5),  # a noun counts once on top, each time below
    ],
)
def test_the_kind_follows_from_the_shared_nouns(own: str, wanted: str, expected: float) -> None:
    """Where neither the query nor two categories agree, the overlap of the names decides."""
    words = "table lamp sofa rug bed chair desk mug pan pot cup"
    bought = product(name=own, query="other", product_category="z")
    assert (
        type_reward(bought, goal(name=wanted), lambda name: [w for w in name.split() if w in words.split()]) == expected
    )


def test_two_shared_categories_or_the_query_make_a_small_overlap_good() -> None:
    """The order of the categories does not count, and one of them twice counts once."""
    wish = goal(name="lamp sofa rug bed chair desk")
    split = str.split
    assert type_reward(product(query="x", product_category="c › a"), wish, split) == 1.0
    assert type_reward(product(query="x", product_category="a › a › d"), wish, split) == 0.5
    assert type_reward(product(product_category="d"), wish, split) == 1.0


def test_attributes_match_by_words_or_by_letters() -> None:
    """In any order in the list; letter by letter in name, bullets and description, with the goal's capitals."""
    assert matched_attributes(product(attributes=("essential oil",)), ("essential oils", "oil essential")) == 2
    bought = product(name="A Lamp, Hand Made", bullets=("Very bright", "light"), description="From Peru")
    assert matched_attributes(bought, ("hand made", "bright light", "from peru", "dark")) == 3
    assert matched_attributes(bought, ("Hand Made", "Very bright", "From Peru")) == 0


def test_options_match_after_their_colours_are_reduced() -> None:
    """Every blue is blue; of a mapping the pairs are compared, so the reduced "rust" is no "rustic"."""
    assert matched_options(["sky blue"], ["navy blue"]) == 1
    assert matched_options(["rustic"], ["rustic"]) == 1
    assert matched_options(["rustic"], {"style": "rustic"}) == 0
    assert matched_options(["sky blue"], {"color": "navy blue"}) == 1
    assert matched_options(["large"], {"size": "x-large"}) == 1
    assert matched_options(["size"], {"size": "petite"}) == 1
    assert matched_options([], ["large"]) == 0


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("ab", "ba", False),
        ("Füße", "Fe", True),
        ("", "", False),
        ("large chair lamp", "large chair arame", False),  # 84.85, rounded to 85
        ("oak wooden chair", "brighy chair wooden", True),  # 85.71, rounded to 86
    ],
)
def test_words_are_compared_as_the_original_compares_them(left: str, right: str, expected: bool) -> None:
    """Accented letters are dropped, as its library does."""
    assert alike(left, right) is expected


def test_a_price_at_the_limit_is_within_it() -> None:
    """One cent more is not."""
    for price, expected in ((10.0, 1.0), (10.01, 0.5)):
        bought = product(price=price, attributes=("bright",))
        assert purchase_reward(bought, goal(), {}, str.split).total == expected
