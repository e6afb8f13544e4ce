"""WebShop's reward once more, read from the paper and the published description alone, for plain dicts.

It shares nothing with the package: thefuzz, the library of the original, compares the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thefuzz.fuzz import token_set_ratio

# The published list, by the letter.
PALETTE = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel
camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry
cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey
heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight
mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow
red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal
tiger turquoise violet walnut wheat white wine yellow
"""


def plain_color(option: Any) -> Any:
    """Return the first colour of the palette in an option: within a text, or among the parts of a pair."""
    for color in PALETTE.split():
        if color in option:
            return color
    return option


def published_reward(
    bought: dict[str, Any], wish: dict[str, Any], price: float, chosen: Sequence[str], nouns: Callable[[str], list[str]]
) -> float:
    """Return the reward of a purchase."""
    # The kind of product.
    theirs, ours = nouns(bought["name"]), nouns(wish["name"])
    common = sum(1 for noun in set(theirs) if noun in ours)
    overlap = common / len(ours) if ours else 0.2
    levels = [{level.strip() for level in one["path"].split("›")} for one in (bought, wish)]
    same_kind = bought["query"] == wish["query"] or len(levels[0] & levels[1]) > 1 or overlap > 0.2
    kind = 1.0 if same_kind else 0.5
    if overlap < 0.1:
        kind = 0.1
    if not overlap:
        kind = 0.0
    # Attributes.
    points = 0
    for wanted in wish["attributes"]:
        listed = [token_set_ratio(attribute, wanted) for attribute in bought["attributes"]]
        written = [bought["title"], " ".join(bought["bullets"]), bought["description"]]
        points += max(listed, default=0) > 85 or sum(text.lower().count(wanted) for text in written) > 0
    # Options; a mapping counts as its pairs.
    options = wish["options"]
    pairs = list(options.items()) if isinstance(options, dict) else list(options)
    for option in pairs:
        scores = [token_set_ratio(plain_color(value), plain_color(option)) for value in chosen]
        points += max(scores, default=0) > 85
    points += price <= wish["limit"]
    return points / (len(wish["attributes"]) + len(pairs) + 1) * kind
