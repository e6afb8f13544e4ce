"""The shop's tables, and their content for one task."""

from __future__ import annotations

from random import Random

from gem_envs_desk.content import DeskContent, columns, day
from gem_envs_desk.names import CITIES, STREETS
from gem_envs_desk.store import Row, TableSchema

__all__ = ["PRODUCTS", "SCHEMA", "Shop", "reduced"]

PRODUCTS = {
    "desk lamp": ("home", ("white", "black", "brass"), ("small", "large")),
    "water bottle": ("home", ("green", "steel", "blue"), ("500 ml", "750 ml")),
    "wool blanket": ("home", ("grey", "red", "cream"), ("single", "double")),
    "headset": ("electronics", ("black", "silver", "navy"), ("wired", "wireless")),
    "keyboard": ("electronics", ("black", "white", "grey"), ("compact", "full size")),
    "tablet": ("electronics", ("silver", "gold", "graphite"), ("64 GB", "256 GB")),
    "running shirt": ("clothing", ("blue", "orange", "white"), ("size M", "size XL")),
    "rain jacket": ("clothing", ("yellow", "navy", "olive"), ("size S", "size L")),
    "hiking backpack": ("clothing", ("teal", "rust", "black"), ("30 l", "45 l")),
}
"""Product → category, colours, sizes."""

SCHEMA = {
    "customers": TableSchema(columns("customer_id first_name last_name email zip tier"), ("customer_id",)),
    "payment_methods": TableSchema(columns("payment_id customer_id kind", real="balance"), ("payment_id",)),
    "items": TableSchema(
        columns("item_id product category colour size", whole="stock final_sale", real="price"), ("item_id",)
    ),
    "orders": TableSchema(
        columns("order_id customer_id status placed_on delivered_on payment_id street city zip cancel_reason"),
        ("order_id",),
    ),
    "order_lines": TableSchema(columns("order_id item_id status", real="price"), ("order_id", "item_id")),
    "refunds": TableSchema(columns("order_id item_id payment_id", real="amount"), ("order_id", "item_id")),
    "cases": TableSchema(columns("subject category"), ("subject", "category")),
}


_SIZES = {float(size.split()[0]) for _, _, sizes in PRODUCTS.values() for size in sizes if size[0].isdigit()}
"""Numbers that customers say, so that none is an amount that they must be told."""


class Shop(DeskContent):
    """The content of a shop: ten customers with their orders.

    Args:
        rng: makes it.
        split: decides the family names.
    """

    def __init__(self, rng: Random, split: str) -> None:
        super().__init__(SCHEMA, rng)
        self._make_items()
        for _ in range(10):
            self._make_customer(split)

    def add_order(self, customer: Row, status: str, lines: int, days_ago: int, without: str = "") -> Row:
        """Add an order of distinct products but one; a delivered one came three days after it was placed."""
        rng = self.rng
        payment = rng.choice(self.rows("payment_methods", customer_id=customer["customer_id"]))
        order = self.add(
            "orders",
            order_id=f"R{self.number()}",
            customer_id=customer["customer_id"],
            status=status,
            placed_on=day(days_ago + 3),
            delivered_on=day(days_ago) if status == "delivered" else None,
            payment_id=payment["payment_id"],
            street=f"{rng.randint(1, 99)} {rng.choice(STREETS)}",
            city=rng.choice(CITIES),
            zip=customer["zip"],
            cancel_reason=None,
        )
        for product in rng.sample(sorted(set(PRODUCTS) - {without}), lines):
            item = rng.choice(self.rows("items", product=product))
            self.add(
                "order_lines",
                order_id=order["order_id"],
                item_id=item["item_id"],
                price=item["price"],
                status="bought",
            )
        return order

    def add_histories(self) -> None:
        """Add what customers have done before: older orders, some of them cancelled, and what came back."""
        rng = self.rng
        for customer in self.tables["customers"]:
            for _ in range(rng.randint(0, 3)):
                status = rng.choice(("delivered", "delivered", "cancelled"))
                order = self.add_order(customer, status, rng.randint(1, 2), rng.randint(95, 400))
                if status == "cancelled":
                    order["cancel_reason"] = rng.choice(("no longer needed", "ordered by mistake"))
                elif rng.random() < 0.5:
                    self._come_back(order)

    def _come_back(self, order: Row) -> None:
        """Return the first item of an order."""
        line = self.rows("order_lines", order_id=order["order_id"])[0]
        line["status"] = "returned"
        item, payment, amount = line["item_id"], order["payment_id"], line["price"]
        self.add("refunds", order_id=order["order_id"], item_id=item, payment_id=payment, amount=amount)

    def _make_items(self) -> None:
        rng, prices = self.rng, {0.0}
        for product, (category, colours, sizes) in PRODUCTS.items():
            base = rng.randint(15, 220)
            # Not more than two of six, so that there is always a choice.
            sold_out = set(rng.sample([(colour, size) for colour in colours for size in sizes], rng.randint(0, 2)))
            for colour in colours:
                for size in sizes:
                    price = 0.0
                    while {price, reduced(price)} & prices:
                        cents = rng.choice((0.0, 0.2, 0.4, 0.5, 0.8, 0.9))
                        price = base + rng.randint(-9, 9) + cents
                    if {price, reduced(price)} & _SIZES:
                        price = round(price + 0.3, 2)
                    # Neither two prices nor a price and a reduced one are equal, so that each tells its item.
                    prices |= {price, reduced(price)}
                    self.add(
                        "items",
                        item_id=str(self.number()),
                        product=product,
                        category=category,
                        colour=colour,
                        size=size,
                        price=price,
                        stock=0 if (colour, size) in sold_out else rng.randint(1, 40),
                        final_sale=int(rng.random() < 0.15),
                    )

    def _make_customer(self, split: str) -> None:
        rng = self.rng
        tier = "plus" if rng.random() < 0.4 else "standard"
        customer = self.add("customers", **self.person(split), zip=str(self.number()), tier=tier)
        identifier = customer["customer_id"]
        for kind in ("card", "gift_card"):
            balance = float(rng.randint(5, 120)) if kind == "gift_card" else None
            self.add(
                "payment_methods",
                payment_id=f"P{self.number()}",
                customer_id=identifier,
                kind=kind,
                balance=balance,
            )
        for status in ("pending", "delivered", rng.choice(("shipped", "delivered"))):
            self.add_order(customer, status, rng.randint(2, 3), rng.randint(4, 90))


def reduced(price: float) -> float:
    """Return a price less 10 %; the shop's prices have no odd cents, so there is nothing to round."""
    return round(price * 0.9, 2)
