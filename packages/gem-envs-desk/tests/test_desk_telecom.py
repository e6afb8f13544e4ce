"""What the network's tools do and refuse, and when a phone has a data connection."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.domain import DeskWorld, carried_out
from gem_envs_desk.task import AGENT, USER, Aim, DeskCall, DeskTask, Wish
from gem_envs_desk.telecom.env import TelecomActsDomain, TelecomDomain
from gem_envs_desk.telecom.tasks import GROUNDS, PHRASES

DOMAIN, ACTS_DOMAIN = TelecomDomain(), TelecomActsDomain()
CUSTOMER = {"first_name": "Ida", "last_name": "Rud"}
LINE = {
    "plan": "small", "status": "active", "contract_ends": "2027-01-01", "roaming": 0, "data_limit_gb": 3.0,
    "data_used_gb": 1.0,
}  # fmt: skip
PHONE = {
    "network_mode": "automatic", "access_point": "intact", "sim_card": "well", "ringtone": "bells", "airplane_mode": 0,
    "mobile_data": 1, "data_roaming": 0, "data_saver": 1, "vpn": 0, "wifi_calling": 1, "is_abroad": 0,
}  # fmt: skip
HERS, HIS = "0170-1", "0170-2"
BILL = {"phone_number": HERS, "status": "open", "due_on": "2026-06-01", "requested": 0, "amount": 20.5}
STATE: dict[str, Any] = {
    "customers": [
        {**CUSTOMER, "customer_id": "C1", "email": "ida@mail.example"},
        {**CUSTOMER, "customer_id": "C2", "email": "leo@mail.example"},
    ],
    "lines": [
        {**LINE, "phone_number": HERS, "customer_id": "C1"},
        {**LINE, "phone_number": HIS, "customer_id": "C2", "status": "suspended"},
    ],
    "bills": [
        {**BILL, "bill_id": "B1"},
        {**BILL, "bill_id": "B2", "status": "paid", "due_on": "2026-04-01"},
        {**BILL, "bill_id": "B3", "status": "overdue", "phone_number": HIS},
        {**BILL, "bill_id": "B4", "status": "overdue", "due_on": "2026-05-01"},
    ],
    "phones": [{**PHONE, "phone_number": HERS}, {**PHONE, "phone_number": HIS}],
    "cases": [{"subject": HERS, "category": "refused request"}],
}


def opened(phone: dict[str, Any] | None = None, line: dict[str, Any] | None = None) -> DeskWorld:
    """Return a network in which her phone and line have these values."""
    phones = [{**STATE["phones"][0], **(phone or {})}, STATE["phones"][1]]
    lines = [{**STATE["lines"][0], **(line or {})}, STATE["lines"][1]]
    return DOMAIN.open({**STATE, "phones": phones, "lines": lines})


def done(world: DeskWorld, tool: str, **arguments: Any) -> str:
    """Return the text of a call that succeeds, whoever's tool it is."""
    result = carried_out(world, DeskCall(tool, arguments, AGENT if tool in world.tools[AGENT] else USER))
    assert result.ok, result.text
    return result.text


def changed(world: DeskWorld, before: dict[str, Any]) -> dict[str, Any]:
    """Return what differs from an earlier dump: (table, key, column) → the new value."""
    return {
        (table, key[0], column): value
        for table, rows in world.dump().items()
        for key, row in rows.items()
        for column, value in row.items()
        if before[table].get(key, {}).get(column) != value
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "changes"),
    [
        ("request_payment", {"bill_id": "B4"}, {("bills", "B4", "requested"): 1}),
        ("request_payment", {"bill_id": "B1"}, {("bills", "B1", "requested"): 1}),
        ("resume_line", {"phone_number": HIS}, {("lines", HIS, "status"): "active"}),
        ("enable_roaming", {"phone_number": HERS}, {("lines", HERS, "roaming"): 1}),
        (
            "add_data",
            {"phone_number": HERS, "gigabytes": 20.0, "price": 1000.0},
            {("lines", HERS, "data_limit_gb"): 23.0, ("bills", "B1", "amount"): 1020.5},
        ),
        ("add_data", {"phone_number": HERS, "gigabytes": 0.5, "price": 0.0}, {("lines", HERS, "data_limit_gb"): 3.5}),
        (
            "add_data",
            {"phone_number": HERS, "gigabytes": 1.2349, "price": 1.2349},
            {("lines", HERS, "data_limit_gb"): 4.23, ("bills", "B1", "amount"): 21.73},
        ),
        (
            "open_case",
            {"subject": HERS, "category": "visit a shop"},
            {("cases", HERS, "subject"): HERS, ("cases", HERS, "category"): "visit a shop"},
        ),
        ("set_switch", {"phone_number": HERS, "switch": "vpn", "on": True}, {("phones", HERS, "vpn"): 1}),
        (
            "set_switch",
            {"phone_number": HERS, "switch": "mobile_data", "on": False},
            {("phones", HERS, "mobile_data"): 0},
        ),
        ("set_network_mode", {"phone_number": HERS, "mode": "2G only"}, {("phones", HERS, "network_mode"): "2G only"}),
        ("restore_access_point", {"phone_number": HERS}, {}),
        (
            "reset_all_settings",
            {"phone_number": HERS},
            {
                ("phones", HERS, "ringtone"): "standard",
                ("phones", HERS, "data_saver"): 0,
                ("phones", HERS, "wifi_calling"): 0,
            },
        ),
    ],
)
def test_a_call_changes_exactly_what_it_names(tool: str, arguments: dict[str, Any], changes: dict[str, Any]) -> None:
    """The limits themselves are allowed, and nobody else's line, bill or phone is touched."""
    world = opened()
    before = world.dump()
    done(world, tool, **arguments)
    assert changed(world, before) == changes


@pytest.mark.parametrize(
    ("tool", "arguments", "refusal"),
    [
        ("request_payment", {"bill_id": "B2"}, r"^Bill B2 has been paid\.$"),
        ("request_payment", {"bill_id": "B9"}, r"no 'B9' among the bills"),
        ("resume_line", {"phone_number": HERS}, r"^Line 0170-1 is active\.$"),
        ("enable_roaming", {"phone_number": "0170-9"}, r"no '0170-9' among the lines"),
        ("add_data", {"phone_number": HERS, "gigabytes": 20.1, "price": 10.0}, r"at most 20 gigabytes"),
        ("add_data", {"phone_number": HERS, "gigabytes": 0.0, "price": 10.0}, r"more than 0"),
        ("add_data", {"phone_number": HERS, "gigabytes": 2.0, "price": -0.01}, r"not negative"),
        ("add_data", {"phone_number": HERS, "gigabytes": 2.0, "price": 1000.01}, r"not negative"),
        ("open_case", {"subject": HERS, "category": "refused request"}, r"such a case about 0170-1 already"),
        ("open_case", {"subject": "C1", "category": "refused request"}, r"no 'C1' among the lines"),
        ("pay_bill", {"phone_number": HERS}, r"no request for a bill"),
        ("set_switch", {"phone_number": "0170-9", "switch": "vpn", "on": True}, r"no '0170-9' among the phones"),
        ("find_customer", {"email": "nobody@mail.example"}, r"No customer has these data"),
    ],
)
def test_a_call_beyond_a_limit_is_refused_and_changes_nothing(
    tool: str, arguments: dict[str, Any], refusal: str
) -> None:
    """The message says which rule it broke."""
    world = opened()
    before = world.dump()
    result = carried_out(world, DeskCall(tool, arguments, AGENT if tool in world.tools[AGENT] else USER))
    assert not result.ok
    assert re.search(refusal, result.text), result.text
    assert world.dump() == before


def test_a_customer_pays_the_bill_that_was_requested() -> None:
    """Her own, and only one that is overdue: an open bill for which a request came stays open."""
    world = opened()
    for bill in ("B1", "B3", "B4"):
        done(world, "request_payment", bill_id=bill)
    before = world.dump()
    assert "B4" in done(world, "pay_bill", phone_number=HERS)
    assert changed(world, before) == {("bills", "B4", "status"): "paid"}


def test_a_customer_with_two_requests_says_which_bill_they_have_paid() -> None:
    """One at a time, and then the other."""
    bills = [{**BILL, "bill_id": name, "status": "overdue", "requested": 1} for name in ("B5", "B6")]
    world = DOMAIN.open({**STATE, "bills": bills})
    for name in ("B5", "B6"):
        before = world.dump()
        assert name in done(world, "pay_bill", phone_number=HERS)
        assert changed(world, before) == {("bills", name, "status"): "paid"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("look_at_status_bar", {}),
        ("look_at_settings", {}),
        ("look_at_sim_card", {}),
        ("set_switch", {"switch": "vpn", "on": True}),
        ("set_network_mode", {"mode": "automatic"}),
        ("restore_access_point", {}),
        ("reseat_sim_card", {}),
        ("reset_all_settings", {}),
    ],
)
def test_nobody_uses_a_phone_that_does_not_exist(tool: str, arguments: dict[str, Any]) -> None:
    """No tool says that it has done so."""
    result = carried_out(opened(), DeskCall(tool, {"phone_number": "0170-9", **arguments}, USER))
    assert (result.ok, "no '0170-9' among the phones" in result.text) == (False, True)


@pytest.mark.parametrize("given", [{"email": " IDA@mail.example"}, {"phone_number": HERS}])
def test_a_customer_is_found_with_her_lines(given: dict[str, str]) -> None:
    """By e-mail address or number; lines and bills are shown by number."""
    world = opened()
    found = json.loads(done(world, "find_customer", **given))
    assert (found["customer_id"], found["lines"]) == ("C1", [HERS])
    assert json.loads(done(world, "get_line", phone_number=HERS))["customer_id"] == "C1"
    assert [bill["bill_id"] for bill in json.loads(done(world, "list_bills", phone_number=HERS))] == ["B1", "B2", "B4"]


@pytest.mark.parametrize(
    ("phone", "line", "shown"),
    [
        ({}, {}, "signal and data"),
        ({"sim_card": "locked", "airplane_mode": 1}, {}, "SIM locked"),
        ({"airplane_mode": 1, "sim_card": "loose"}, {}, "airplane mode"),
        ({"sim_card": "loose"}, {"status": "suspended"}, "no SIM card"),
        ({"mobile_data": 0}, {"status": "suspended"}, "no service"),
        ({"mobile_data": 0}, {}, "signal, but no data"),
        ({"network_mode": "2G only"}, {}, "signal, but no data"),
        ({"access_point": "empty"}, {}, "signal, but no data"),
        ({"vpn": 1}, {}, "signal, but no data"),
        ({}, {"data_used_gb": 3.0}, "signal, but no data"),
        ({}, {"data_used_gb": 2.9}, "signal and data"),
        ({"is_abroad": 1, "data_roaming": 1}, {"roaming": 1}, "signal and data"),
        ({"is_abroad": 1, "data_roaming": 0}, {"roaming": 1}, "signal, but no data"),
        ({"is_abroad": 1, "data_roaming": 1}, {"roaming": 0}, "signal, but no data"),
        ({"data_saver": 0, "wifi_calling": 0, "data_roaming": 1}, {}, "signal and data"),
    ],
)
def test_the_status_bar_shows_what_stands_in_the_way(phone: dict[str, Any], line: dict[str, Any], shown: str) -> None:
    """Sentences 3 to 7 of the policy, each condition by itself; what does no harm does none."""
    assert done(opened(phone, line), "look_at_status_bar", phone_number=HERS) == f"The status bar says: {shown}."


def test_a_customer_sees_settings_and_card() -> None:
    """Each switch with its state; a locked card stays locked, a loose one sits well again."""
    world = opened({"vpn": 1, "sim_card": "loose", "network_mode": "2G only", "access_point": "empty"})
    assert done(world, "look_at_settings", phone_number=HERS) == (
        "In the settings, airplane mode is off, mobile data is on, data roaming is off, data saver is on, "
        "the VPN is on, Wi-Fi calling is on, the network mode is 2G only, and the access point is empty."
    )
    assert done(world, "look_at_sim_card", phone_number=HERS) == "The SIM card is loose."
    done(world, "reseat_sim_card", phone_number=HERS)
    done(world, "restore_access_point", phone_number=HERS)
    assert done(world, "look_at_sim_card", phone_number=HERS) == "The SIM card sits well."
    assert done(world, "look_at_settings", phone_number=HERS).endswith("the access point is intact.")
    world = opened({"sim_card": "locked", "is_abroad": 1})
    before = world.dump()
    done(world, "reseat_sim_card", phone_number=HERS)
    assert done(world, "look_at_sim_card", phone_number=HERS) == "It says: SIM locked."
    assert changed(world, before) == {}
    done(world, "reset_all_settings", phone_number=HERS)
    assert changed(world, before)["phones", HERS, "data_roaming"] == 1  # a reset abroad keeps the phone online


@cache
def _connections() -> list[tuple[DeskTask, Wish, Aim, dict[str, Any]]]:
    """Return the wishes for a connection of 100 tasks, each with its phone."""
    found = []
    for number in range(100):
        task = ACTS_DOMAIN.task(number, 2, "train")
        assert task.script is not None
        for wish, aim in zip(task.script.wishes, task.aims, strict=True):
            if wish.test is not None:
                phone_number = wish.test.arguments["phone_number"]
                phone = next(row for row in task.state["phones"] if row["phone_number"] == phone_number)
                found.append((task, wish, aim, phone))
    return found


def test_customers_are_where_they_say() -> None:
    """Abroad, roaming is needed; at home it is not."""
    said = [
        ("abroad" in next(slot.says for slot in wish.slots if slot.name == "place"), bool(phone["is_abroad"]))
        for _, wish, _, phone in _connections()
    ]
    assert set(said) == {(True, True), (False, False)}


def test_who_will_not_pay_for_data_says_so_at_once() -> None:
    """They want two gigabytes for nothing; nobody else names data."""
    said = {
        (any(words in wish.says for words in PHRASES.row("two")), aim.grounds == ("not for nothing",))
        for _, wish, aim, _ in _connections()
    }
    assert said == {(True, True), (False, False)}


def test_what_is_refused_is_all_that_could_be_done_or_leaves_other_faults() -> None:
    """More data alone would do for who wants them for nothing; other phones may have more faults."""
    also_wrong = dict.fromkeys(GROUNDS, 0)
    for task, _, aim, phone in _connections():
        for ground in aim.grounds:
            world = DOMAIN.open({**task.state, "phones": [{**phone, "sim_card": "well"}]})
            number = phone["phone_number"]
            if ground == "not for nothing":
                done(world, "add_data", phone_number=number, gigabytes=2.0, price=0.0)
            elif ground == "contract ended":
                done(world, "resume_line", phone_number=number)
            also_wrong[ground] += "signal and data" not in done(world, "look_at_status_bar", phone_number=number)
    assert also_wrong.pop("not for nothing") == 0
    assert min(also_wrong.values()) >= 2, also_wrong


def test_each_ground_is_a_state_of_the_line_and_has_its_case() -> None:
    """A locked card leads to a shop, a stranger's line to a check of identity, all else to a refused request."""
    seen = set()
    for task, wish, aim, phone in _connections():
        (line,) = (row for row in task.state["lines"] if row["phone_number"] == phone["phone_number"])
        holds = {
            "cannot help": line["customer_id"] != task.customer,
            "SIM card locked": phone["sim_card"] == "locked",
            "contract ended": line["status"] == "suspended" and line["contract_ends"] < "2026-05-15",
            "not for nothing": any(words in wish.says for words in PHRASES.row("two")),
        }
        assert set(aim.grounds) == {ground for ground, is_so in holds.items() if is_so}
        if aim.grounds:
            category = {"cannot help": "identity not verified", "SIM card locked": "visit a shop"}
            expected = category.get(aim.grounds[0], "refused request")
            assert aim.gold == (DeskCall("open_case", {"subject": line["phone_number"], "category": expected}),)
            is_used_up = line["data_used_gb"] >= line["data_limit_gb"]
            assert is_used_up == (aim.grounds == ("not for nothing",))
            seen.add(aim.grounds[0])
    assert seen == set(GROUNDS)


def test_a_bill_belongs_to_the_customer_of_its_line() -> None:
    """So that a request to pay it is one to them, and a phone is theirs as well."""
    owned = Ownership(ACTS_DOMAIN.schema, STATE)
    assert [owned.owner(row["bill_id"]) for row in STATE["bills"]] == ["C1", "C1", "C2", "C1"]
    assert [owned.owner(row["phone_number"]) for row in STATE["phones"]] == ["C1", "C2"]
