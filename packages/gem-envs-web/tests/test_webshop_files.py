"""The shop over files in WebShop's form."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_web.shop.pages import ShopView
from gem_envs_web.shop.webshop import WebShopEnv
from gem_testing import ClauseOutcome, EnvUnderTest, run_clauses


def row(asin: str, **fields: Any) -> dict[str, Any]:
    """Return a product as WebShop's file has it."""
    return {
        "asin": asin,
        "name": f"Acme Trail Running Shoes {asin}",
        "query": " Running Shoes ",
        "category": "fashion",
        "product_category": "Clothing › Men › Shoes",
        "small_description": ["Light", "Rubber sole"],
        "full_description": "For the trail.",
        "pricing": "$39.95",
        "images": ["https://example.org/a.jpg", "https://example.org/b.jpg"],
        "customization_options": {"Color": [{"value": " Black/White ", "image": None}, {"value": "Red [new]"}]},
        "brand": "ignored",
        **fields,
    }


PRODUCTS = [
    row("B000000001"),
    row("B000000002", pricing="$10.00$1,020.50", customization_options={"Size": None}),
    row("B000000003", pricing=None, small_description="One line", customization_options=None),
    row("B000000001", name="a second one of this number"),
    row("B00000000004", name="a number of twelve characters"),
    row("nan"),
    row("B000000005", pricing="$995.00", full_description=None, customization_options=None),
]
ATTRIBUTES = {
    "B000000001": {
        "attributes": ["rubber sole", "lightweight"],
        "instruction": "find me running shoes that are lightweight",
        "instruction_attributes": ["lightweight"],
    },
    "B000000002": {"attributes": ["long lasting"], "instruction": None},
    "B000000005": {"attributes": ["gold"], "instruction": "i need gold", "instruction_attributes": ["gold"]},
}
PEOPLE = {
    "B000000001": [
        {"instruction": "i want red shoes.", "instruction_attributes": ["rubber sole"], "instruction_options": ["red"]},
        {"instruction": "nothing asked for", "instruction_attributes": [], "instruction_options": []},
    ],
    "B000000003": [{"instruction": "cheap", "instruction_attributes": ["x"], "instruction_options": []}],
    "B999999999": [{"instruction": "not sold", "instruction_attributes": ["x"], "instruction_options": []}],
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write the files; return the arguments that name them."""
    return written(tmp_path, PRODUCTS, ATTRIBUTES, PEOPLE)


def written(folder: Path, products: Any, attributes: Any, people: Any) -> dict[str, str]:
    found = {}
    for name, content in (("product", products), ("attribute", attributes), ("instruction", people)):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content))
        found[f"{name}_file"] = str(path)
    return found


def made(files: dict[str, Any], **kwargs: Any) -> WebShopEnv:
    env = gem.make("web:WebShop-v0", **files, **kwargs)
    assert isinstance(env, WebShopEnv)
    return env


def test_products_are_read_as_the_original_reads_them(files: dict[str, Any]) -> None:
    """Options in lower case with spaced bars; repeated and too long numbers are left out; gaps have its defaults."""
    shop = made(files, goal_range=[0, 1]).shop
    first = shop.product("B000000001")
    assert first.name == "Acme Trail Running Shoes B000000001"
    assert first.options == {"color": ["black | white", "red [new]"]}
    assert (first.query, first.price, first.price_text, first.rating) == ("running shoes", 39.95, "$39.95", "N.A.")
    assert first.image == "https://example.org/a.jpg"
    second, third = shop.product("B000000002"), shop.product("B000000003")
    assert second.price_text == "$10.0 to $1020.5"
    assert 10.0 <= second.price <= 1020.5
    assert second.options == {}
    assert (third.price, third.price_text, third.bullets, third.attributes) == (
        100.0, "$100.0", ["One line"], ["DUMMY_ATTR"]
    )  # fmt: skip
    assert shop.product("B000000005").description == ""
    for asin in ("B00000000004", "nan"):
        with pytest.raises(LookupError):
            shop.product(asin)


def test_goals_of_people_are_read(files: dict[str, Any]) -> None:
    """One without attributes is left out, and so are those of products that are not sold."""
    shop = made(files, goal_range=[0, 2]).shop
    goals = {goal.asin: goal for goal in map(shop.goal, range(2))}
    red = goals["B000000001"]
    assert red.instruction == f"i want red shoes, and price lower than {red.price_upper:.2f} dollars"
    assert red.price_upper in (50.0, 60.0, 70.0)
    assert (red.attributes, red.options) == (["rubber sole"], ["red"])
    assert {*goals} == {"B000000001", "B000000003"}
    with pytest.raises(LookupError):
        shop.goal(2)


def test_synthetic_goals_have_a_goal_for_each_combination(files: dict[str, Any]) -> None:
    """With a mapping of options, one limit for the product, and none above 990 dollars."""
    shop = made(files | {"instruction_file": None}, goal_range=[0, 3]).shop
    goals = [shop.goal(number) for number in range(3)]
    ours = [goal for goal in goals if goal.asin == "B000000001"]
    assert {tuple(dict(goal.options).items()) for goal in ours} == {
        (("color", "black | white"),),
        (("color", "red [new]"),),
    }
    assert len({goal.price_upper for goal in ours}) == 1
    assert ours[0].instruction.startswith("find me running shoes that are lightweight with color: ")
    (dear,) = [goal for goal in goals if goal.asin == "B000000005"]
    assert (dear.instruction, dear.price_upper) == ("i need gold", 1_000_000.0)


def test_goals_come_in_the_order_of_the_original(tmp_path: Path) -> None:
    """Its shuffle has a fixed seed, so the numbers of goals are those of the papers; prices do not change the order."""
    products = [row(f"B{number:09}") for number in range(40)]
    people = {
        f"B{number:09}": [{"instruction": str(number), "instruction_attributes": ["x"], "instruction_options": []}]
        for number in range(40)
    }
    files = written(tmp_path, products, {}, people)
    expected = [f"B{number:09}" for number in range(40)]
    random.Random(233).shuffle(expected)
    for seed in (0, 1):
        shop = made(files, price_seed=seed).shop
        assert [shop.goal(number).asin for number in range(40)] == expected
    ranges = [made(files, split=split)._goals for split in ("test", "dev", "train")]
    assert ranges == [range(4), range(4, 8), range(8, 40)]
    assert made(files, products=10, split="test")._goals == range(1)


def test_a_product_of_the_files_can_be_bought(files: dict[str, Any]) -> None:
    """An option with brackets too; the reward is that of the formula."""
    env = made(files, goal_range=[0, 2])
    number = next(n for n in range(2) if env.shop.goal(n).asin == "B000000001")
    env.reset(seed=0, options={"goal": number})
    for action in ("search[acme trail b000000001]", "click[b000000001]", "click[red [new]]"):
        observation, *_ = env.step(action)
    assert "$39.95" in observation
    assert dict(env._view.options) == {"color": "red [new]"}
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert env.score(ShopView("done", asin="B000000001")).total == pytest.approx(2 / 3)


def test_files_are_read_once_and_survive_pickling(files: dict[str, Any]) -> None:
    """Environments of the same files share them."""
    first, second = made(files, goal_range=[0, 1]), made(files, goal_range=[1, 2])
    assert first.shop is second.shop
    assert pickle.loads(pickle.dumps(first.shop)) is first.shop


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"product_file": None}, "product_file must be the path"),
        ({"product_file": "/nowhere/items.json"}, "/nowhere/items.json cannot be read"),
        ({"split": "eval"}, "split"),
        ({"goal_range": [0, 3]}, "goal_range"),
        ({"goal_range": [1, 1]}, "goal_range"),
        ({"products": 0}, "products"),
    ],
)
def test_bad_arguments_are_refused(files: dict[str, Any], change: dict[str, Any], message: str) -> None:
    """With the value and the remedy."""
    with pytest.raises(ArgumentError, match=message):
        made(files | change)
    with pytest.raises(ArgumentTypeError, match="goal_range"):
        made(files, goal_range=5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "must hold a JSON array"),
        ("[]", "no product with an instruction"),
        ("[1]", "not a product of WebShop"),
        ('[{"asin": "B000000001"}]', "is missing"),
    ],
)
def test_another_file_is_refused(files: dict[str, Any], content: str, message: str) -> None:
    """And the message names it."""
    Path(files["product_file"]).write_text(content)
    with pytest.raises(ArgumentError, match=message) as caught:
        made(files)
    assert files["product_file"] in str(caught.value)


@pytest.mark.nightly
def test_the_contract_holds_on_files(files: dict[str, Any]) -> None:
    """The whole kit, on an environment over files."""
    spec = gem.spec("web:WebShop-v0").with_kwargs({**files, "goal_range": [0, 2]})
    results = list(run_clauses(EnvUnderTest(spec)))
    assert len(results) > 50
    assert not [result for result in results if result.outcome is ClauseOutcome.VIOLATED]
