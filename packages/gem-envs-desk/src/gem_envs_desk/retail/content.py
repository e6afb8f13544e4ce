"""The shop's tables, and their content for one task."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from gem_envs_desk.names import CITIES, FIRST_NAMES, STREETS, family_name
from gem_envs_desk.store import Row, TableSchema

__all__ = ["PRODUCTS", "SCHEMA", "TODAY", "Shop", "day"]

TODAY = date(2026, 5, 15)
"""The date of every episode; the policy states it."""

PRODUCTS = {
    "desk lamp": ("home", ("white", "black", "brass"), ("small", "large")),
    "water bottle": ("home", ("green", "steel", "blue"), ("500 ml", "750 ml")),
    "wool blanket": ("home", ("grey", "red", "cream"), ("single", "double")),
    "headphones": ("electronics", ("black", "silver", "navy"), ("wired", "wireless")),
    "keyboard": ("electronics", ("black", "white", "grey"), ("compact", "full size")),
    "tablet": ("electronics", ("silver", "gold", "graphite"), ("64 GB", "256 GB")),
    "running shoes": ("clothing", ("blue", "orange", "white"), ("size 40", "size 43")),
    "rain jacket": ("clothing", ("yellow", "navy", "olive"), ("size S", "size L")),
    "hiking backpack": ("clothing", ("teal", "rust", "black"), ("30 l", "45 l")),
}
"""Product → category, colours, sizes."""

_TEXT, _NUMBER, _WHOLE = "TEXT", "REAL", "INTEGER"
SCHEMA = {
    "customers": TableSchema(
        dict.fromkeys(("customer_id", "first_name", "last_name", "email", "zip", "tier"), _TEXT), ("customer_id",)
    ),
    "payment_methods": TableSchema(
        {"payment_id": _TEXT, "customer_id": _TEXT, "kind": _TEXT, "balance": _NUMBER}, ("payment_id",)
    ),
    "items": TableSchema(
        {"item_id": _TEXT, "product": _TEXT, "category": _TEXT, "colour": _TEXT, "size": _TEXT, "price": _NUMBER,
         "stock": _WHOLE, "final_sale": _WHOLE}, ("item_id",),
    ),
    "orders": TableSchema(
        {"order_id": _TEXT, "customer_id": _TEXT, "status": _TEXT, "placed_on": _TEXT, "delivered_on": _TEXT,
         "payment_id": _TEXT, "street": _TEXT, "city": _TEXT, "zip": _TEXT, "cancel_reason": _TEXT}, ("order_id",),
    ),
    "order_lines": TableSchema(
        {"order_id": _TEXT, "item_id": _TEXT, "price": _NUMBER, "status": _TEXT}, ("order_id", "item_id")
    ),
    "refunds": TableSchema(
        {"order_id": _TEXT, "item_id": _TEXT, "payment_id": _TEXT, "amount": _NUMBER}, ("order_id", "item_id")
    ),
    "cases": TableSchema(dict.fromkeys(("subject", "category"), _TEXT), ("subject", "category")),
}  # fmt: skip


def day(days_ago: int) -> str:
    """Return the date so many days before today, as text."""
    return (TODAY - timedelta(days=days_ago)).isoformat()


class Shop:
    """The content of a shop: a dozen customers with their orders.

    Args:
        rng: makes it.
        split: decides the family names.
    """

    def __init__(self, rng: Random, split: str) -> None:
        self.rng = rng
        self.tables: dict[str, list[Row]] = {name: [] for name in SCHEMA}
        self._numbers = rng.sample(range(10_000, 100_000), 400)
        self._make_items()
        for _ in range(10):
            self._make_customer(split)

    def rows(self, table: str, **equal: Any) -> list[Row]:
        """Return the rows whose columns have these values."""
        return [row for row in self.tables[table] if all(row[name] == value for name, value in equal.items())]

    def row(self, table: str, **equal: Any) -> Row:
        """Return the one row whose columns have these values."""
        (row,) = self.rows(table, **equal)
        return row

    def add_order(self, customer: Row, status: str, lines: int, days_ago: int) -> Row:
        """Add an order of distinct products; a delivered one came three days after it was placed."""
        rng = self.rng
        payment = rng.choice(self.rows("payment_methods", customer_id=customer["customer_id"]))
        order = {
            "order_id": f"R{self._numbers.pop()}",
            "customer_id": customer["customer_id"],
            "status": status,
            "placed_on": day(days_ago + 3),
            "delivered_on": day(days_ago) if status == "delivered" else None,
            "payment_id": payment["payment_id"],
            "street": f"{rng.randint(1, 99)} {rng.choice(STREETS)}",
            "city": rng.choice(CITIES),
            "zip": customer["zip"],
            "cancel_reason": None,
        }
        self.tables["orders"].append(order)
        for product in rng.sample(sorted(PRODUCTS), lines):
            item = rng.choice(self.rows("items", product=product))
            self.tables["order_lines"].append(
                {"order_id": order["order_id"], "item_id": item["item_id"], "price": item["price"], "status": "bought"}
            )
        return order

    def _make_items(self) -> None:
        rng = self.rng
        for product, (category, colours, sizes) in PRODUCTS.items():
            base = rng.randint(15, 220)
            # Not more than two of six, so that there is always a choice.
            sold_out = set(rng.sample([(colour, size) for colour in colours for size in sizes], rng.randint(0, 2)))
            for colour in colours:
                for size in sizes:
                    price = base + rng.randint(-9, 9) + rng.choice((0.0, 0.25, 0.49, 0.5, 0.75, 0.95))
                    self.tables["items"].append(
                        {
                            "item_id": str(self._numbers.pop()),
                            "product": product,
                            "category": category,
                            "colour": colour,
                            "size": size,
                            "price": round(max(price, 6.0), 2),
                            "stock": 0 if (colour, size) in sold_out else rng.randint(1, 40),
                            "final_sale": int(rng.random() < 0.15),
                        }
                    )

    def _make_customer(self, split: str) -> None:
        rng = self.rng
        first, last, number = rng.choice(FIRST_NAMES), family_name(rng, split), self._numbers.pop()
        identifier = f"C{number}"
        customer = {
            "customer_id": identifier,
            "first_name": first,
            "last_name": last,
            "email": f"{first.lower()}.{last.lower().replace('ö', 'o')}{number % 1000}@mail.example",
            "zip": str(self._numbers.pop()),
            "tier": "plus" if rng.random() < 0.4 else "standard",
        }
        self.tables["customers"].append(customer)
        for kind in ("card", "gift_card"):
            balance = float(rng.randint(5, 120)) if kind == "gift_card" else None
            self.tables["payment_methods"].append(
                {"payment_id": f"P{self._numbers.pop()}", "customer_id": identifier, "kind": kind, "balance": balance}
            )
        for status in ("pending", "delivered", rng.choice(("shipped", "delivered"))):
            self.add_order(customer, status, rng.randint(2, 3), rng.randint(4, 90))
