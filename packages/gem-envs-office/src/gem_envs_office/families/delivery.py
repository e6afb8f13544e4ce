"""A late delivery: orders of customers are served from other warehouses or postponed, a case of re-planning."""

from __future__ import annotations

from typing import Any

from gem_envs_office.families.planning import planning_ticket, ticket_done
from gem_envs_office.goals import OneOf
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft

__all__ = ["add_delay"]


def add_delay(draft: OfficeDraft, queue: str, item: Row) -> None:
    """Let a delivery be late: one order is served by the stock, one by a transfer, one must wait."""
    rng, tables = draft.rng, draft.tables
    item_id = item["item_id"]
    home, near, far = rng.sample([row["warehouse_id"] for row in tables["warehouses"]], 3)
    late = rng.randint(12, 24)
    new_day = draft.day(late)
    delivery = tables.add(
        "purchase_orders",
        supplier_id=rng.choice(tables["suppliers"])["supplier_id"],
        item_id=item_id,
        quantity=rng.randint(40, 90),
        unit_price=item["unit_price"],
        expected_on=draft.day(rng.randint(1, 4)),
        warehouse_id=home,
        status="open",
    )
    served, missing, waiting = rng.randint(2, 9), rng.randint(3, 12), rng.randint(60, 90)
    rest = rng.randint(0, 4)
    spare_near, spare_far = missing + rng.randint(0, 5), rng.choice((missing + 7, rng.randint(0, missing - 1)))
    held_near, held_far = rng.randint(0, 8), rng.randint(0, 8)
    levels = {}
    # Which of two warehouses has given must show in the quantities.
    while abs(spare_near + held_near - spare_far - held_far) == missing:
        held_far += 1
    for warehouse, quantity in ((home, served + rest), (near, spare_near + held_near), (far, spare_far + held_far)):
        level = tables.where("stock_levels", item_id=item_id, warehouse_id=warehouse)[0]
        level["quantity"] = quantity
        levels[warehouse] = level["level_id"]
    promised = sorted(rng.sample(range(2, 12), 3))
    sizes = [served, rest + missing, waiting][: rng.choice((2, 3))]
    orders = [_sales_order(draft, item_id, home, size, promised[place]) for place, size in enumerate(sizes)]
    _sales_order(draft, item_id, home, rng.randint(50, 80), 30)
    for warehouse, held in ((near, held_near), (far, held_far)):
        if held:
            _sales_order(draft, item_id, warehouse, held, rng.randint(2, 9))
    supplier = tables.row("suppliers", tables.row("purchase_orders", delivery)["supplier_id"])["name"]
    body = f"{supplier} writes: our delivery {delivery} ({item['name']}) is late and arrives on {new_day}."
    ticket = planning_ticket(draft, queue, f"Late delivery of {item['name']}", body)
    draft.do("get_purchase_order", order_id=delivery)
    draft.do("update_purchase_order", order_id=delivery, expected_on=new_day)
    draft.want("purchase_orders", delivery, expected_on=new_day)
    draft.do("list_stock_levels", item_id=item_id)
    draft.do("list_sales_orders", item_id=item_id, status="open")
    able = [one for one, spare in ((near, spare_near), (far, spare_far)) if spare >= missing]
    _transfer(draft, item_id, home, able, missing, levels, orders[1])
    if len(orders) == 3:
        _postpone(draft, orders[2], draft.day(late + draft.numbers["delay_days"]))
    ticket_done(draft, ticket)


def _sales_order(draft: OfficeDraft, item: str, warehouse: str, quantity: int, days: int) -> str:
    customer = draft.rng.choice(draft.tables["customers"])["customer_id"]
    return draft.tables.add(
        "sales_orders",
        customer_id=customer,
        item_id=item,
        quantity=quantity,
        warehouse_id=warehouse,
        promised_on=draft.day(days),
        status="open",
    )


def _transfer(
    draft: OfficeDraft, item: str, home: str, able: list[str], missing: int, levels: dict[str, str], order: str
) -> None:
    level = {name: draft.tables.row("stock_levels", key)["quantity"] for name, key in levels.items()}
    given: dict[str, Any] = {"item_id": item, "to_id": home, "quantity": missing, "about": order}
    draft.do("transfer_stock", from_id=able[0], **given)
    draft.want("stock_transfers", from_id=OneOf(tuple(able)), **given)
    draft.want("stock_levels", levels[home], quantity=level[home] + missing)
    draft.want(
        "stock_levels", *(levels[one] for one in able), quantity=OneOf(tuple(level[one] - missing for one in able))
    )


def _postpone(draft: OfficeDraft, order: str, day: str) -> None:
    tables = draft.tables
    customer = tables.row("sales_orders", order)["customer_id"]
    addresses = tuple(row["email"] for row in tables.where("contacts", customer_id=customer))
    draft.do("postpone_order", order_id=order, promised_on=day)
    draft.do("create_customer_note", customer_id=customer, kind="delay", about=order, text=f"Now promised for {day}.")
    draft.do("list_contacts", customer_id=customer)
    draft.do("send_mail", recipient=addresses[0], subject="Delay", body=f"It comes on {day}.", about=order)
    draft.want("sales_orders", order, promised_on=day)
    draft.want("customer_notes", customer_id=customer, kind="delay", about=order)
    draft.want("mail_messages", recipient=OneOf(addresses), about=order)
