"""The basic colours of WebShop's reward (its ``web_agent_site/engine/normalize.py``), in the order of their use."""

from __future__ import annotations

__all__ = ["BASIC_COLORS", "basic_color"]

_WORDS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel
camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry
cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey
heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight
mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow
red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal
tiger turquoise violet walnut wheat white wine yellow
"""
BASIC_COLORS = tuple(_WORDS.split())


def basic_color(text: str) -> str:
    """Return the first basic colour whose letters occur anywhere in a text; the text itself if none does."""
    return next((color for color in BASIC_COLORS if color in text), text)
