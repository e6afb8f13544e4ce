"""The requests of the shop's customers, with their solutions by the policy."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from gem.tables import read_table
from gem_envs_desk.names import CITIES, STREETS
from gem_envs_desk.request_maker import Kinds, RequestMaker
from gem_envs_desk.requests import CANNOT_HELP, DeskRequest, Words, called, desk_phrases
from gem_envs_desk.retail.content import PRODUCTS, Shop, reduced
from gem_envs_desk.store import Row
from gem_envs_desk.task import DeskCall, Slot, ToldFact, Wish

__all__ = ["GROUNDS", "PHRASES", "ShopperRequests", "comes_too_late"]

REASON_NOT_ACCEPTED, TOO_LATE, FINAL_SALE = "reason not accepted", "too late", "final sale"
SWAPPED_BEFORE = "swapped before"
GROUNDS = (CANNOT_HELP, REASON_NOT_ACCEPTED, TOO_LATE, FINAL_SALE, SWAPPED_BEFORE)
"""Why the policy refuses a wish."""

_WORDS: dict[str, tuple[str, ...]] = {name: tuple(words) for name, words in read_table(__file__, "words.json").items()}
"""Slot → the words that ask for it, and what customers want with the words for it."""
PHRASES = desk_phrases(read_table(__file__, "phrases.json"))
"""How customers raise their wishes where their words vary."""
_CANCELS = "I would like to cancel an order."
"""Whoever the order belongs to, and whatever the reason, so that the words do not tell."""
_CANCELS_AGAIN = "I would also like to cancel another order."


class ShopperRequests(RequestMaker[Shop]):
    """Makes requests of one customer, each about an order of its own."""

    table, slot, asks, why = "orders", "order", _WORDS["order"], _WORDS["reason"]
    names = "The order number is {}."

    def __init__(self, rng: Random, shop: Shop, customer: Row, level: int) -> None:
        super().__init__(rng, shop, customer, level)
        self.shop = shop
        self.priced = rng.choice(list(PRODUCTS))
        """The product whose price is asked for, if one is; no other request is about it."""

    def cancel(self, allowed: bool) -> DeskRequest:
        """Cancel a pending order, for a reason that the policy allows or does not."""
        rng = self.rng
        order = self._order("pending", rng.randint(1, 6))
        if allowed:
            reason, says = rng.choice(
                (
                    ("no longer needed", "I do not need it any more."),
                    ("ordered by mistake", "I ordered it by mistake."),
                )
            )
            gold: tuple[DeskCall, ...] = (called("cancel_order", order_id=order["order_id"], reason=reason),)
            naive = None
        else:
            says = rng.choice(("I have found it cheaper elsewhere.", "The delivery takes too long for me."))
            gold = self.case(order["order_id"])
            naive = (called("cancel_order", order_id=order["order_id"], reason="other"),)
        wrong = [words for words in _WORDS["no_reasons"] if not _is_reason(words, says)]
        reason_slot = Slot("reason", _WORDS["reason"], says, choices=tuple(wrong))
        slots = (self.record_slot(order["order_id"]), reason_slot, *self._extras(order, _CANCELS))
        wish = Wish(_CANCELS, "", self.protest(not allowed), slots, ("deed",), _CANCELS_AGAIN)
        grounds = () if allowed else (REASON_NOT_ACCEPTED,)
        kind = "cancel" if allowed else "cancel refused"
        return DeskRequest(kind, wish, gold, naive=naive, grounds=grounds, words=Words("cancel"))

    def refund(self) -> DeskRequest:
        """Return an item, within the time or not, on final sale or not, with a fee or without."""
        rng = self.rng
        days = rng.choice((rng.randint(2, 28), rng.randint(32, 58), rng.randint(62, 80)))
        order = self._order("delivered", days)
        line = rng.choice(self.shop.rows("order_lines", order_id=order["order_id"]))
        item = self.shop.row("items", item_id=line["item_id"])
        gift_card = self.shop.row("payment_methods", customer_id=self.customer_id, kind="gift_card")
        wants_gift_card = order["payment_id"] != gift_card["payment_id"] and rng.random() < 0.4
        target = gift_card["payment_id"] if wants_gift_card else order["payment_id"]
        fee = item["category"] == "electronics" and self.customer["tier"] == "standard"
        amount = reduced(line["price"]) if fee else line["price"]
        is_late = comes_too_late(days, self.customer["tier"])
        allowed = not is_late and not item["final_sale"]

        def paid(sum_: float) -> tuple[DeskCall, ...]:
            return (
                called(
                    "refund_item",
                    order_id=order["order_id"],
                    item_id=item["item_id"],
                    amount=sum_,
                    payment_id=target,
                ),
            )

        gold = paid(amount) if allowed else self.case(order["order_id"])
        where = "on my gift card" if wants_gift_card else "back the way I paid"
        slots: tuple[Slot, ...] = (
            self.record_slot(order["order_id"]),
            Slot(
                "item",
                ("item", "which product", "what product"),
                f"It is the {item['product']}.",
                choices=tuple(PRODUCTS),
            ),
            Slot("target", _WORDS["target"], f"I want the money {where}.", choices=self._targets(order, gift_card)),
            self.reason("I do not like it as much as I thought."),
        )
        says = (
            f"I want to send back the {item['product']} of an order, and I would like to have the money {where}. "
            "Please tell me how much I get."
        )
        slots += self._extras(order, says)
        again = says.replace("I want to", "I also want to").replace("an order", "another order")
        wish = Wish(says, "", self.protest(not allowed), slots, ("deed", "amount"), again)
        facts = (ToldFact(amount, 0, "You get back", "refund"),) if allowed else ()
        grounds = (*([TOO_LATE] if is_late else []), *([FINAL_SALE] if item["final_sale"] else []))
        naive = None if allowed and not fee else paid(line["price"])
        kind = "refund with fee" if allowed and fee else "refund" if allowed else "refund refused"
        words = Words("refund", {"product": item["product"], "where": where})
        return DeskRequest(kind, wish, gold, facts, naive, grounds, words=words)

    def swap(self) -> DeskRequest:
        """Swap an item for another variant; the customer may change their mind, or want what is not allowed."""
        rng, shop = self.rng, self.shop
        order = self._order("pending", rng.randint(1, 6))
        line = rng.choice(shop.rows("order_lines", order_id=order["order_id"]))
        old = shop.row("items", item_id=line["item_id"])
        variants = [
            item for item in shop.rows("items", product=old["product"]) if item["stock"] and item is not old
        ]  # fmt: skip
        first, second = rng.sample(variants, 2)
        refused = rng.random() < 0.3
        changes = not refused and self.level > 1 and rng.random() < 0.5
        if refused:
            line["status"] = "swapped"

        def swapped(new: Row) -> tuple[DeskCall, ...]:
            identifiers = {"old_item_id": old["item_id"], "new_item_id": new["item_id"]}
            return (called("swap_item", order_id=order["order_id"], **identifiers),)

        product = old["product"]
        change = f"Wait, I have changed my mind. I would rather have the {product} in {_variant(second)}."
        slots: tuple[Slot, ...] = (
            self.record_slot(order["order_id"]),
            Slot(
                "variant",
                ("colour", "color", "size", "variant", "which item", "which product", "option", "new item"),
                f"I have the {product} in {_variant(old)}, and I want it in {_variant(first)}.",
                after_change=f"I have the {product} in {_variant(old)}, and now I want it in {_variant(second)}.",
                choices=(*PRODUCTS[product][1], *PRODUCTS[product][2]),
            ),
            self.reason("I like that one better."),
        )
        says = f"I have ordered {_a(product)} and would rather have it in {_variant(first)}. Please swap it."
        slots += self._extras(order, says)
        said = {"a_product": _a(product), "product": product, "new": _variant(first), "other": _variant(second)}
        words = Words("swap", said, (Slot("item", (), f"It is the {product}.", extra=True),))
        wish = Wish(says, change if changes else "", self.protest(refused), slots, ("deed",))
        if refused:
            grounds = (SWAPPED_BEFORE,)
            gold, naive = self.case(order["order_id"]), swapped(first)
            return DeskRequest("swap refused", wish, gold, naive=naive, grounds=grounds, words=words)
        gold = swapped(second if changes else first)
        kind = "swap, changed mind" if changes else "swap"
        return DeskRequest(kind, wish, gold, naive=swapped(first) if changes else None, words=words)

    def address(self) -> DeskRequest:
        """Change an address; the customer may change their mind."""
        rng = self.rng
        order = self._order("pending", rng.randint(1, 6))
        numbers = rng.sample(range(100, 200), 2)  # no order has such a number
        places = [(f"{self._house(number)} {rng.choice(STREETS)}", rng.choice(CITIES), f"{rng.randint(10_000, 99_999)}")
                  for number in numbers]  # fmt: skip
        changes = self.level > 1 and rng.random() < 0.5

        def moved(place: tuple[str, str, str]) -> tuple[DeskCall, ...]:
            street, city, code = place
            return (called("change_address", order_id=order["order_id"], street=street, city=city, zip_code=code),)

        first, second = places
        slots: tuple[Slot, ...] = (
            self.record_slot(order["order_id"]),
            Slot(
                "address",
                _WORDS["address"],
                f"The new address is {_place(first)}.",
                after_change=f"The address is {_place(second)}, as I said.",
                choices=tuple(city.casefold() for city in CITIES),
            ),
            self.reason("Nobody is at home there to take it."),
        )
        if self._house(order["street"].split()[0]).isdigit():
            slots += (Slot("old address", _WORDS["old_address"], _goes_to(order), extra=True),)
        change = f"Oh, I have just noticed that nobody is there next week. Please send it to {_place(second)} instead."
        says = "I want an order delivered to another address."
        wish = Wish(says, change if changes else "", "", (*slots, _action(says)), ("deed",))
        gold = moved(second if changes else first)
        kind = "address, changed mind" if changes else "address"
        words = Words("address", {"other": _place(second)}, reasons=("moving", "moving_first"))
        return DeskRequest(kind, wish, gold, naive=moved(first) if changes else None, words=words)

    def stranger(self) -> DeskRequest:
        """Ask for the order of somebody else."""
        rng, shop = self.rng, self.shop
        order = shop.add_order(rng.choice(self.others()), "pending", 2, rng.randint(1, 6))
        slots = (
            self.known_slot(order["order_id"]),
            Slot("reason", _WORDS["reason"], "I do not need it any more."),
            _action(_CANCELS),
        )
        wish = Wish(_CANCELS, "", self.protest(True), slots, ("deed",), _CANCELS_AGAIN)
        naive = called("cancel_order", order_id=order["order_id"], reason="no longer needed")
        return self.of_somebody_else("order of somebody else", wish, order["order_id"], naive, Words("cancel"))

    def lost(self) -> DeskRequest:
        """Miss a parcel."""
        order = self._order("shipped", self.rng.randint(15, 40))
        says = "An order of mine has still not arrived."
        placed = Slot("placed", ("when did you order", "when did you place", "date of the order", "order date"),
                      f"I ordered it on {order['placed_on']}.", extra=True)  # fmt: skip
        slots = (self.record_slot(order["order_id"]), placed, *self._extras(order, ""))
        wish = Wish(says, slots=slots, wants=("deed",))
        gold = self.case(order["order_id"], "lost parcel")
        naive = self.case(order["order_id"])  # the wrong category
        return DeskRequest("lost parcel", wish, gold, naive=naive, words=Words("lost"))

    def price(self) -> DeskRequest:
        """Ask for the price of a variant."""
        item = self.rng.choice(self.shop.rows("items", product=self.priced))
        says = f"What does {_a(item['product'])} in {_variant(item)} cost at the moment?"
        variant = Slot(
            "variant",
            ("colour", "color", "size", "variant", "which item", "which product", "option"),
            f"I mean the {item['product']} in {_variant(item)}.",
            choices=(*PRODUCTS[item["product"]][1], *PRODUCTS[item["product"]][2]),
            extra=True,
        )
        wish = Wish(says, slots=(variant,), wants=("amount",))
        gold = (called("list_items", product=item["product"]),)
        product = item["product"]
        said = {"a_product": _a(product), "product": product, "variant": _variant(item)}
        words = Words("price", said, (Slot("item", (), f"It is the {product}.", extra=True),))
        return DeskRequest("price", wish, gold, (ToldFact(item["price"], 0, "It costs", "price"),), words=words)

    def _order(self, status: str, days_ago: int) -> Row:
        return self.shop.add_order(self.customer, status, self.rng.randint(2, 3), days_ago, self.priced)

    def _targets(self, order: Row, gift_card: Row) -> tuple[str, ...]:
        """Return the words for where the money can go; who has paid with the gift card has no choice."""
        if order["payment_id"] == gift_card["payment_id"]:
            return ()
        return ("gift card", "back the way i paid|original payment method|credit card|debit card|your card")

    def _extras(self, order: Row, says: str) -> tuple[Slot, ...]:
        """Return what a customer knows about an order of theirs and need not say."""
        slots = (
            Slot("delivery address", _WORDS["delivery"], _goes_to(order), extra=True),
            *([_action(says)] if says else []),
        )
        return slots if self._house(order["street"].split()[0]).isdigit() else slots[1:]

    def _house(self, number: int | str) -> str:
        """Return the number of a house, with a letter if it is an amount that the customer could have to be told."""
        prices = {price for item in self.shop.tables["items"] for price in (item["price"], reduced(item["price"]))}
        return f"{number}a" if float(number) in prices else str(number)

    def about(self) -> tuple[Slot, ...]:
        return (Slot("zip", ("zip", "zip code", "postcode", "postal code"), f"My zip code is {self.customer['zip']}."),)

    kinds: ClassVar[Kinds] = {
        "cancel": lambda requests: requests.cancel(True),
        "cancel refused": lambda requests: requests.cancel(False),
        "refund": refund,
        "another refund": refund,
        "swap": swap,
        "address": address,
        "stranger": stranger,
        "lost": lost,
        "price": price,
    }


def comes_too_late(days: int, tier: str) -> bool:
    """Return whether an item that was delivered so many days ago cannot come back any more."""
    return days > (60 if tier == "plus" else 30)


def _action(says: str) -> Slot:
    """Return what a customer answers to an agent who is about to do something else."""
    return Slot("wish", (), says, choices=_WORDS["actions"], extra=True)


def _is_reason(words: str, says: str) -> bool:
    reasons = {"no longer": "not need", "by mistake": "by mistake", "cheaper": "cheaper", "takes": "takes too long"}
    return any(words.startswith(start) and part in says for start, part in reasons.items())


def _a(product: str) -> str:
    return f"{'an' if product[0] in 'aeiou' else 'a'} {product}"


def _variant(item: Row) -> str:
    return f"{item['colour']}, {item['size']}"


def _goes_to(order: Row) -> str:
    return f"The order goes to {order['street']}, {order['zip']} {order['city']}."


def _place(place: tuple[str, str, str]) -> str:
    street, city, code = place
    return f"{street}, {code} {city}"
