"""What a text shows to its reader, and what is a number: facts are told, and disclosures found, by these."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gem_envs_desk.acts.language import canonical, exact_number
from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.facts import shows
from gem_envs_desk.telecom.env import TelecomActsDomain


@pytest.mark.parametrize(
    "text",
    [
        "To 5 Oak Street, please.", "5 OAK STREET", "5 oak\nstreet", "5\u00a0Oak  Street", "_5 Oak Street_",
        "**5** *Oak* `Street`", "５ Ｏａｋ Ｓｔｒｅｅｔ", "5 O\u200bak Str\u00adeet", "~5_Oak_Street~",
    ],
)  # fmt: skip
def test_a_value_is_shown_however_it_is_set(text: str) -> None:
    """Blanks, emphasis, the width of letters and invisible ones hide nothing."""
    assert shows(text, "5 Oak Street")


@pytest.mark.parametrize("text", ["15 Oak Street", "5 Oak Streets", "5 Oakstreet", "5 Oak", ""])
def test_other_words_do_not_show_a_value(text: str) -> None:
    """Neither longer words nor parts do."""
    assert not shows(text, "5 Oak Street")


def test_part_of_a_word_is_nobodys_name() -> None:
    """Of a customer called Ott, "ottoman" tells nothing; the name alone does, and so does an address."""
    domain = TelecomActsDomain()
    names = [("C1", "Ott", "ott@mail.example"), ("C2", "Rud", "rud@mail.example")]
    rows = [{"customer_id": key, "first_name": "", "last_name": name, "email": mail} for key, name, mail in names]
    owned = Ownership(domain.schema, {"customers": rows})
    assert owned.shown("An ottoman of the rudest kind, hott@mail.example.") == []
    assert owned.shown("*Ott*: ask RUD@mail.example") == [
        (frozenset({"C1"}), "Ott"), (frozenset({"C2"}), "Rud"), (frozenset({"C2"}), "rud@mail.example")
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [("jane_doe@mail.example", "jane_doe@mail.example"), ("_25.50_", 25.5)])
def test_emphasis_and_names_with_underscores_are_told_apart(text: str, value: str | float) -> None:
    """A value with an underscore is shown by itself, and a number within emphasis is one."""
    assert shows(text, value)


@pytest.mark.parametrize("text", ["25", "25.0", " 25 ", "25 €", "€25.00", "25 EUR", "25 euros", "25euro"])
def test_euros_may_be_named(text: str) -> None:
    """All desks reckon in them."""
    assert canonical(text) == canonical(25)


@pytest.mark.parametrize(
    "text", ["$25", "25 dollars", "£25", "25 cents", "25 %", "2€5", "25 or 26", "25,0", "1" * 2_000_000, "1" * 41]
)
def test_nothing_else_is_an_amount(text: str) -> None:
    """Neither another currency, nor a list, nor a text of millions of digits."""
    assert exact_number(text) is None
    assert canonical(text) != canonical(25)


def test_numbers_have_forty_characters_at_most() -> None:
    """A number of forty digits is one."""
    assert exact_number("1" * 40) == Decimal("1" * 40)
