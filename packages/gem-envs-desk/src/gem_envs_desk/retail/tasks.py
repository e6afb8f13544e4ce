"""The requests of the shop's customers, with their solutions by the policy."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from gem_envs_desk.content import about_customer
from gem_envs_desk.names import CITIES, STREETS
from gem_envs_desk.requests import INSISTS, DeskRequest, called, composed, misread
from gem_envs_desk.retail.content import PRODUCTS, Shop, reduced
from gem_envs_desk.store import Row
from gem_envs_desk.task import DeskCall, DeskTask, Slot, ToldFact, Wish

__all__ = ["KINDS", "retail_task"]

_ORDER = (
    "order number",
    "order id",
    "which order",
    "number of the order",
    "order do you",
    "order is it",
    "order it is",
)
_REASON = ("reason", "why")


class _Requests:
    """Makes requests of one customer, each about an order of its own."""

    def __init__(self, rng: Random, shop: Shop, customer: Row, level: int) -> None:
        self.rng, self.shop, self.customer, self.level = rng, shop, customer, level
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
            gold = self._refused(order)
            naive = (called("cancel_order", order_id=order["order_id"], reason="other"),)
        slots = (self._order_slot(order), Slot("reason", _REASON, says))
        wish = Wish("I would like to cancel an order.", protest=self._protest(not allowed), slots=slots)
        return DeskRequest("cancel" if allowed else "cancel refused", wish, gold, naive=naive)

    def refund(self) -> DeskRequest:
        """Return an item, within the time or not, on final sale or not, with a fee or without."""
        rng, customer = self.rng, self.customer
        days = rng.choice((rng.randint(2, 28), rng.randint(32, 58), rng.randint(62, 80)))
        order = self._order("delivered", days)
        line = rng.choice(self.shop.rows("order_lines", order_id=order["order_id"]))
        item = self.shop.row("items", item_id=line["item_id"])
        gift_card = self.shop.row("payment_methods", customer_id=customer["customer_id"], kind="gift_card")
        wants_gift_card = order["payment_id"] != gift_card["payment_id"] and rng.random() < 0.4
        target = gift_card["payment_id"] if wants_gift_card else order["payment_id"]
        is_plus = customer["tier"] == "plus"
        fee = item["category"] == "electronics" and not is_plus
        amount = reduced(line["price"]) if fee else line["price"]
        allowed = days <= (60 if is_plus else 30) and not item["final_sale"]

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

        gold = paid(amount) if allowed else self._refused(order)
        where = "on my gift card" if wants_gift_card else "back the way I paid"
        slots = (
            self._order_slot(order),
            Slot("item", ("item",), f"It is the {item['product']}."),
            Slot("target", ("payment method", "refund", "gift card", "paid", "money"), f"I want the money {where}."),
        )
        wish = Wish(
            f"I want to send back the {item['product']} of an order, and I would like to have the money {where}. "
            "Please tell me how much I get.",
            protest=self._protest(not allowed),
            slots=slots,
        )
        facts = (ToldFact(amount, 0, "You get back"),) if allowed else ()
        naive = None if allowed and not fee else paid(line["price"])
        kind = "refund with fee" if allowed and fee else "refund" if allowed else "refund refused"
        return DeskRequest(kind, wish, gold, facts, naive)

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
        slots = (
            self._order_slot(order),
            Slot(
                "variant",
                ("colour", "color", "size", "variant", "which item", "which product", "option", "new item"),
                f"I have the {product} in {_variant(old)}, and I want it in {_variant(first)}.",
                after_change=f"I have the {product} in {_variant(old)}, and now I want it in {_variant(second)}.",
            ),
        )
        says = f"I have ordered a {product} and would rather have it in {_variant(first)}. Please swap it."
        wish = Wish(says, change if changes else "", self._protest(refused), slots)
        if refused:
            return DeskRequest("swap refused", wish, self._refused(order), naive=swapped(first))
        gold = swapped(second if changes else first)
        kind = "swap, changed mind" if changes else "swap"
        return DeskRequest(kind, wish, gold, naive=swapped(first) if changes else None)

    def address(self) -> DeskRequest:
        """Change an address; the customer may change their mind."""
        rng = self.rng
        order = self._order("pending", rng.randint(1, 6))
        numbers = rng.sample(range(100, 200), 2)  # no order has such a number
        places = [(f"{number} {rng.choice(STREETS)}", rng.choice(CITIES), f"{rng.randint(10_000, 99_999)}")
                  for number in numbers]  # fmt: skip
        changes = self.level > 1 and rng.random() < 0.5

        def moved(place: tuple[str, str, str]) -> tuple[DeskCall, ...]:
            street, city, code = place
            return (called("change_address", order_id=order["order_id"], street=street, city=city, zip_code=code),)

        first, second = places
        slots = (
            self._order_slot(order),
            Slot(
                "address",
                ("address", "street", "city", "where"),
                f"The new address is {_place(first)}.",
                after_change=f"The address is {_place(second)}, as I said.",
            ),
        )
        change = f"Oh, I have just noticed that nobody is there next week. Please send it to {_place(second)} instead."
        wish = Wish("I want an order delivered to another address.", change if changes else "", slots=slots)
        gold = moved(second if changes else first)
        kind = "address, changed mind" if changes else "address"
        return DeskRequest(kind, wish, gold, naive=moved(first) if changes else None)

    def stranger(self) -> DeskRequest:
        """Ask for the order of somebody else."""
        rng, shop = self.rng, self.shop
        others = [one for one in shop.tables["customers"] if one is not self.customer]
        order = shop.add_order(rng.choice(others), "pending", 2, rng.randint(1, 6))
        slots = (
            Slot("order", _ORDER, f"The order number is {order['order_id']}."),
            Slot("reason", _REASON, "I do not need it any more."),
        )
        wish = Wish("I would like to cancel an order.", protest=self._protest(True), slots=slots)
        gold = (called("open_case", subject=order["order_id"], category="identity not verified"),)
        naive = (called("cancel_order", order_id=order["order_id"], reason="no longer needed"),)
        return DeskRequest("order of somebody else", wish, gold, naive=naive)

    def lost(self) -> DeskRequest:
        """Miss a parcel."""
        order = self._order("shipped", self.rng.randint(15, 40))
        wish = Wish("An order of mine has still not come.", slots=(self._order_slot(order),))
        gold = (called("open_case", subject=order["order_id"], category="lost parcel"),)
        naive = self._refused(order)  # the wrong category
        return DeskRequest("lost parcel", wish, gold, naive=naive)

    def price(self) -> DeskRequest:
        """Ask for the price of a variant."""
        item = self.rng.choice(self.shop.rows("items", product=self.priced))
        wish = Wish(f"What does a {item['product']} in {_variant(item)}, cost at the moment?")
        gold = (called("list_items", product=item["product"]),)
        return DeskRequest("price", wish, gold, (ToldFact(item["price"], 0, "It costs"),))

    def _order(self, status: str, days_ago: int) -> Row:
        return self.shop.add_order(self.customer, status, self.rng.randint(2, 3), days_ago, self.priced)

    def _order_slot(self, order: Row) -> Slot:
        wrong = ""
        if self.level > 1 and self.rng.random() < 0.3:
            known = {row["order_id"] for row in self.shop.tables["orders"]}
            wrong = f"The order number is {misread(self.rng, order['order_id'], known)}."
        return Slot("order", _ORDER, f"The order number is {order['order_id']}.", wrong)

    def _protest(self, refused: bool) -> str:
        return self.rng.choice(INSISTS) if refused and self.level > 1 else ""

    def _refused(self, order: Row) -> tuple[DeskCall, ...]:
        return (called("open_case", subject=order["order_id"], category="refused request"),)


KINDS: dict[str, Callable[[_Requests], DeskRequest]] = {
    "cancel": lambda requests: requests.cancel(True),
    "cancel refused": lambda requests: requests.cancel(False),
    "refund": _Requests.refund,
    "another refund": _Requests.refund,
    "swap": _Requests.swap,
    "address": _Requests.address,
    "stranger": _Requests.stranger,
    "lost": _Requests.lost,
    "price": _Requests.price,
}
"""Kind of request → its maker."""


def retail_task(number: int, level: int, split: str) -> DeskTask:
    """Return the task of a number: as many requests as the level says."""
    rng = Random(f"retail {split} {level} {number}")
    shop = Shop(rng, split)
    customer = rng.choice(shop.tables["customers"])
    maker = _Requests(rng, shop, customer, level)
    requests = [KINDS[name](maker) for name in rng.sample(list(KINDS), level)]
    zip_code = Slot("zip", ("zip", "postcode", "postal code"), f"My zip code is {customer['zip']}.")
    slots = (*about_customer(customer), zip_code)
    return composed(rng, requests, shop.tables, level=level, slots=slots)


def _variant(item: Row) -> str:
    return f"{item['colour']}, {item['size']}"


def _place(place: tuple[str, str, str]) -> str:
    street, city, code = place
    return f"{street}, {code} {city}"
