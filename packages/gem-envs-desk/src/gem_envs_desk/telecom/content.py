"""The network's tables, the customer's phone among them, and their content for one task."""

from __future__ import annotations

from random import Random

from gem_envs_desk.content import DeskContent, columns, day
from gem_envs_desk.store import Row, TableSchema

__all__ = ["PLANS", "SCHEMA", "Network", "switch_words"]

SCHEMA = {
    "customers": TableSchema(columns("customer_id first_name last_name email"), ("customer_id",)),
    "lines": TableSchema(
        columns("phone_number customer_id plan status contract_ends", "roaming", "data_limit_gb data_used_gb"),
        ("phone_number",),
    ),
    "bills": TableSchema(columns("bill_id phone_number status due_on", "requested", "amount"), ("bill_id",)),
    "phones": TableSchema(
        columns(
            "phone_number network_mode access_point sim_card ringtone",
            "airplane_mode mobile_data data_roaming data_saver vpn wifi_calling is_abroad",
        ),
        ("phone_number",),
    ),
    "cases": TableSchema(columns("subject category"), ("subject", "category")),
}
_WORDS = {"vpn": "the VPN", "wifi_calling": "Wi-Fi calling"}
PLANS = {"small": 3.0, "medium": 10.0, "large": 40.0}


class Network(DeskContent):
    """The content of a network: twelve customers with a line, its bills and a phone that works.

    Args:
        rng: makes it.
        split: decides the family names.
    """

    def __init__(self, rng: Random, split: str) -> None:
        super().__init__(SCHEMA, rng)
        self._amounts = rng.sample(range(1500, 9900), 48)
        for _ in range(12):
            self.add_line(self.add("customers", **self.person(split)))

    def add_histories(self) -> None:
        """Add what customers have done before: bills of earlier months, all of them paid."""
        rng = self.rng
        for line in self.tables["lines"]:
            for month in range(rng.randint(0, 2)):
                self.add(
                    "bills",
                    bill_id=f"B{self.number()}",
                    phone_number=line["phone_number"],
                    status="paid",
                    due_on=day(66 + 31 * month + rng.randint(0, 15)),
                    requested=0,
                    amount=self._amounts.pop() / 100,
                )

    def add_line(self, customer: Row) -> Row:
        """Add a line with two bills, one of them paid, and its phone."""
        rng = self.rng
        plan = rng.choice(list(PLANS))
        number = f"0170-{self.number()}"
        line = self.add(
            "lines",
            phone_number=number,
            customer_id=customer["customer_id"],
            plan=plan,
            status="active",
            contract_ends=day(-rng.randint(60, 600)),
            roaming=0,
            data_limit_gb=PLANS[plan],
            data_used_gb=round(PLANS[plan] * rng.uniform(0.1, 0.8), 1),
        )
        for status, due in (("paid", day(rng.randint(35, 50))), ("open", day(-rng.randint(3, 20)))):
            self.add(
                "bills",
                bill_id=f"B{self.number()}",
                phone_number=number,
                status=status,
                due_on=due,
                requested=0,
                amount=self._amounts.pop() / 100,
            )
        self.add(
            "phones",
            phone_number=number,
            network_mode="automatic",
            access_point="intact",
            sim_card="well",
            ringtone=rng.choice(("waves", "bells", "forest")),
            airplane_mode=0,
            mobile_data=1,
            data_roaming=rng.randint(0, 1),
            data_saver=rng.randint(0, 1),
            vpn=0,
            wifi_calling=1,
            is_abroad=0,
        )
        return line


def switch_words(switch: str) -> str:
    """Return the words for a setting of the phone in a sentence."""
    return _WORDS.get(switch, switch.replace("_", " "))
