"""The tools of the shop's agents. They keep the data whole; what is allowed beyond that, the policy says."""

# ruff: noqa: D417  # the episode fills the argument store, which the agent does not see

from __future__ import annotations

from typing import Any, Literal

from gem.tools import tool
from gem_envs_desk.domain import Db, RefusedCallError
from gem_envs_desk.records import file_case, find_customers, with_status
from gem_envs_desk.store import DeskStore, Row

_CANCEL_REASONS = Literal["no longer needed", "ordered by mistake", "other"]
_CASES = Literal["refused request", "identity not verified", "lost parcel"]


@tool
def find_customer(store: Db, email: str = "", last_name: str = "", zip_code: str = "") -> list[Row]:
    """Find customers by e-mail address, or by last name and zip code.

    Args:
        email: the e-mail address; leave it out to search by name.
        last_name: with zip_code, instead of the e-mail address.
        zip_code: with last_name.
    """
    return find_customers(
        store,
        email,
        "SELECT * FROM customers WHERE lower(last_name) = lower(?) AND zip = ?",
        last_name,
        zip_code,
        second="zip code",
    )


@tool
def list_orders(store: Db, customer_id: str) -> list[Row]:
    """List the orders of a customer.

    Args:
        customer_id: such as C12345.
    """
    store.require("customers", customer_id=customer_id)
    return store.query(
        "SELECT order_id, status, placed_on, delivered_on FROM orders WHERE customer_id = ? ORDER BY order_id",
        customer_id,
    )


@tool
def list_payment_methods(store: Db, customer_id: str) -> list[Row]:
    """List the payment methods of a customer.

    Args:
        customer_id: such as C12345.
    """
    store.require("customers", customer_id=customer_id)
    return store.find("payment_methods", customer_id=customer_id)


@tool
def get_order(store: Db, order_id: str) -> dict[str, Any]:
    """Show an order with its items and refunds.

    Args:
        order_id: such as R12345.
    """
    order = store.require("orders", order_id=order_id)
    lines = store.query(
        "SELECT l.item_id, i.product, i.category, i.colour, i.size, l.price, l.status, i.final_sale "
        "FROM order_lines l JOIN items i USING (item_id) WHERE l.order_id = ? ORDER BY l.item_id",
        order_id,
    )
    return {**order, "items": lines, "refunds": store.find("refunds", order_id=order_id)}


@tool
def list_items(store: Db, product: str) -> list[Row]:
    """List all variants of a product with their item ids, prices and stock.

    Args:
        product: the name of the product, such as desk lamp.
    """
    found = store.query("SELECT * FROM items WHERE product = lower(?) ORDER BY item_id", product.strip())
    if not found:
        names = store.query("SELECT DISTINCT product FROM items ORDER BY product")
        raise RefusedCallError(f"There is no such product; there are {', '.join(row['product'] for row in names)}.")
    return found


@tool
def cancel_order(store: Db, order_id: str, reason: _CANCEL_REASONS) -> str:
    """Cancel a whole order that is pending.

    Args:
        order_id: such as R12345.
        reason: why the customer cancels.
    """
    _pending(store, order_id)
    store.update("orders", {"order_id": order_id}, status="cancelled", cancel_reason=reason)
    return f"Order {order_id} is cancelled."


@tool
def change_address(store: Db, order_id: str, street: str, city: str, zip_code: str) -> str:
    """Change the delivery address of an order that is pending.

    Args:
        order_id: such as R12345.
        street: number and street.
        city: the city.
        zip_code: the zip code.
    """
    _pending(store, order_id)
    store.update("orders", {"order_id": order_id}, street=street.strip(), city=city.strip(), zip=zip_code.strip())
    return f"Order {order_id} goes to {street.strip()}, {zip_code.strip()} {city.strip()}."


@tool
def swap_item(store: Db, order_id: str, old_item_id: str, new_item_id: str) -> str:
    """Replace an item of an order that is pending by another item that is in stock.

    Args:
        order_id: such as R12345.
        old_item_id: the item that is in the order.
        new_item_id: the item that replaces it.
    """
    _pending(store, order_id)
    _line(store, order_id, old_item_id)
    new = store.require("items", item_id=new_item_id)
    if new["stock"] < 1:
        raise RefusedCallError(f"Item {new_item_id} is out of stock.")
    if store.find("order_lines", order_id=order_id, item_id=new_item_id):
        raise RefusedCallError(f"Order {order_id} has item {new_item_id} already.")
    store.delete("order_lines", order_id=order_id, item_id=old_item_id)
    line = {"order_id": order_id, "item_id": new_item_id, "price": new["price"], "status": "swapped"}
    store.insert("order_lines", line)
    return f"Order {order_id} now has item {new_item_id} at {new['price']:.2f} instead of {old_item_id}."


@tool
def refund_item(store: Db, order_id: str, item_id: str, amount: float, payment_id: str) -> str:
    """Take an item of a delivered order back, and pay an amount for it.

    Args:
        order_id: such as R12345.
        item_id: the item that comes back.
        amount: what the customer gets.
        payment_id: where it goes, a payment method of the customer.
    """
    ending = "; only what has been delivered can come back."
    order = with_status(store, "orders", "delivered", ending, order_id=order_id)
    line = _line(store, order_id, item_id)
    if line["status"] == "returned":
        raise RefusedCallError(f"Item {item_id} of order {order_id} has come back already.")
    payment = store.require("payment_methods", payment_id=payment_id)
    if payment["customer_id"] != order["customer_id"]:
        raise RefusedCallError(f"Payment method {payment_id} does not belong to the customer of order {order_id}.")
    if not 0 < amount <= line["price"]:
        raise RefusedCallError(f"The amount must be more than 0 and at most the price, {line['price']:.2f}.")
    amount = round(amount, 2)
    store.update("order_lines", {"order_id": order_id, "item_id": item_id}, status="returned")
    store.insert("refunds", {"order_id": order_id, "item_id": item_id, "payment_id": payment_id, "amount": amount})
    if payment["kind"] == "gift_card":
        store.update("payment_methods", {"payment_id": payment_id}, balance=round(payment["balance"] + amount, 2))
    return f"Item {item_id} of order {order_id} comes back; {amount:.2f} go to {payment_id}."


@tool
def open_case(store: Db, subject: str, category: _CASES) -> str:
    """File a case for the back office.

    Args:
        subject: the id of the order that it is about.
        category: what it is about.
    """
    return file_case(store, "orders", subject, category)


def _pending(store: DeskStore, order_id: str) -> Row:
    return with_status(store, "orders", "pending", ", not pending.", order_id=order_id)


def _line(store: DeskStore, order_id: str, item_id: str) -> Row:
    line = store.get("order_lines", order_id=order_id, item_id=item_id)
    if line is None:
        raise RefusedCallError(f"Order {order_id} has no item {item_id!r:.60}.")
    return line
