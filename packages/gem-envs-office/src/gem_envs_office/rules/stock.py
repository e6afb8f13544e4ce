"""Actions on stock and customers' orders."""

from __future__ import annotations

from typing import Any

from gem_envs_office.office import Office, action, required, set_status
from gem_envs_office.values import OfficeRefusalError

__all__: list[str] = []


@action
def transfer_stock(
    office: Office, item_id: str, from_id: str, to_id: str, quantity: int, about: str | None = None
) -> dict[str, Any]:
    if from_id == to_id or quantity < 1:
        raise OfficeRefusalError("A transfer moves at least one piece to another warehouse.")
    _take(office, item_id, from_id, quantity)
    levels = office.store.find("stock_levels", item_id=item_id, warehouse_id=to_id)
    if levels:
        office.store.update("stock_levels", levels[0]["level_id"], quantity=levels[0]["quantity"] + quantity)
    else:
        office.store.insert("stock_levels", item_id=item_id, warehouse_id=to_id, quantity=quantity)
    key = office.store.insert(
        "stock_transfers", item_id=item_id, from_id=from_id, to_id=to_id, quantity=quantity, about=about
    )
    return {"transfer_id": key}


@action
def dispatch_order(office: Office, order_id: str) -> dict[str, Any]:
    order = required(office, "sales_orders", order_id, status="open")
    _take(office, order["item_id"], order["warehouse_id"], order["quantity"])
    office.store.update("sales_orders", order_id, status="shipped")
    return {"shipment_id": office.store.insert("shipments", order_id=order_id, shipped_on=office.today)}


@action
def postpone_order(office: Office, order_id: str, promised_on: str) -> dict[str, Any]:
    order = required(office, "sales_orders", order_id, status="open")
    if promised_on <= order["promised_on"]:
        raise OfficeRefusalError(f"{order_id} is promised for {order['promised_on']}; {promised_on} is not later.")
    office.store.update("sales_orders", order_id, promised_on=promised_on)
    return {"order_id": order_id, "promised_on": promised_on}


@action
def cancel_order(office: Office, order_id: str) -> dict[str, Any]:
    return set_status(office, "sales_orders", order_id, "open", "cancelled")


def _take(office: Office, item_id: str, warehouse_id: str, quantity: int) -> None:
    levels = office.store.find("stock_levels", item_id=item_id, warehouse_id=warehouse_id)
    if not levels or levels[0]["quantity"] < quantity:
        held = levels[0]["quantity"] if levels else 0
        raise OfficeRefusalError(f"{warehouse_id} has {held} of {item_id}, not {quantity}.")
    office.store.update("stock_levels", levels[0]["level_id"], quantity=levels[0]["quantity"] - quantity)
