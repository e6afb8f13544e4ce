"""The tools of the network's agents and of their customers, who alone can use the phone."""

# ruff: noqa: D417  # the episode fills the argument store, which nobody sees

from __future__ import annotations

from typing import Literal

from gem.tools import tool
from gem_envs_desk.domain import Db
from gem_envs_desk.records import file_case, find_customers, with_status
from gem_envs_desk.store import RefusedCallError, Row
from gem_envs_desk.telecom.content import switch_words

__all__ = ["AGENT_TOOLS", "USER_TOOLS"]

_CASES = Literal["refused request", "identity not verified", "visit a shop"]
_SWITCHES = ("airplane_mode", "mobile_data", "data_roaming", "data_saver", "vpn", "wifi_calling")
_Switch = Literal["airplane_mode", "mobile_data", "data_roaming", "data_saver", "vpn", "wifi_calling"]


@tool
def find_customer(store: Db, email: str = "", phone_number: str = "") -> Row:
    """Find a customer by e-mail address or phone number, with their lines.

    Args:
        email: the e-mail address.
        phone_number: such as 0170-12345, instead of the e-mail address.
    """
    if email:
        customer = find_customers(store, email, "", second="phone number")[0]
    else:
        line = store.require("lines", phone_number=phone_number.strip())
        customer = store.require("customers", customer_id=line["customer_id"])
    lines = store.find("lines", customer_id=customer["customer_id"])
    return {**customer, "lines": [line["phone_number"] for line in lines]}


@tool
def get_line(store: Db, phone_number: str) -> Row:
    """Show a line: plan, status, contract, roaming, data.

    Args:
        phone_number: such as 0170-12345.
    """
    return store.require("lines", phone_number=phone_number)


@tool
def list_bills(store: Db, phone_number: str) -> list[Row]:
    """List the bills of a line.

    Args:
        phone_number: such as 0170-12345.
    """
    store.require("lines", phone_number=phone_number)
    return store.find("bills", phone_number=phone_number)


@tool
def request_payment(store: Db, bill_id: str) -> str:
    """Send the customer a request to pay a bill.

    Args:
        bill_id: such as B12345.
    """
    bill = store.require("bills", bill_id=bill_id)
    if bill["status"] == "paid":
        raise RefusedCallError(f"Bill {bill_id} has been paid.")
    store.update("bills", {"bill_id": bill_id}, requested=1)
    return f"The customer has been asked to pay bill {bill_id} of {bill['amount']:.2f}."


@tool
def resume_line(store: Db, phone_number: str) -> str:
    """Resume a suspended line.

    Args:
        phone_number: such as 0170-12345.
    """
    with_status(store, "lines", "suspended", phone_number=phone_number)
    store.update("lines", {"phone_number": phone_number}, status="active")
    return f"Line {phone_number} is active again."


@tool
def enable_roaming(store: Db, phone_number: str) -> str:
    """Enable roaming on a line.

    Args:
        phone_number: such as 0170-12345.
    """
    store.require("lines", phone_number=phone_number)
    store.update("lines", {"phone_number": phone_number}, roaming=1)
    return f"Line {phone_number} can roam."


@tool
def add_data(store: Db, phone_number: str, gigabytes: float, price: float) -> str:
    """Add data to the month of a line, for a price on the next bill.

    Args:
        phone_number: such as 0170-12345.
        gigabytes: how much, up to 20.
        price: what the customer pays for it.
    """
    line = store.require("lines", phone_number=phone_number)
    if not 0 < gigabytes <= 20 or not 0 <= price <= 1000:
        raise RefusedCallError("Add more than 0 and at most 20 gigabytes, for a price that is not negative.")
    limit = round(line["data_limit_gb"] + gigabytes, 2)
    store.update("lines", {"phone_number": phone_number}, data_limit_gb=limit)
    store.query(
        "UPDATE bills SET amount = round(amount + ?, 2) WHERE phone_number = ? AND status = 'open'", price, phone_number
    )
    return f"Line {phone_number} has {limit:g} GB this month; {price:.2f} are on the next bill."


@tool
def open_case(store: Db, subject: str, category: _CASES) -> str:
    """File a case for the back office.

    Args:
        subject: the phone number of the line that it is about.
        category: what it is about.
    """
    return file_case(store, "lines", subject, category)


@tool
def look_at_status_bar(store: Db, phone_number: str) -> str:
    """Look at the status bar of the phone.

    Args:
        phone_number: the line of the phone.
    """
    phone, line = store.require("phones", phone_number=phone_number), store.require("lines", phone_number=phone_number)
    return f"The status bar says: {_status(phone, line)}."


@tool
def look_at_settings(store: Db, phone_number: str) -> str:
    """Look at the settings of the phone.

    Args:
        phone_number: the line of the phone.
    """
    phone = store.require("phones", phone_number=phone_number)
    switches = ", ".join(f"{switch_words(name)} is {'on' if phone[name] else 'off'}" for name in _SWITCHES)
    access = "intact" if phone["access_point"] == "intact" else "empty"
    return (
        f"In the settings, {switches}, the network mode is {phone['network_mode']}, and the access point is {access}."
    )


@tool
def look_at_sim_card(store: Db, phone_number: str) -> str:
    """Look at the SIM card of the phone.

    Args:
        phone_number: the line of the phone.
    """
    sim = store.require("phones", phone_number=phone_number)["sim_card"]
    return {"well": "The SIM card sits well.", "loose": "The SIM card is loose.", "locked": "It says: SIM locked."}[sim]


@tool
def set_switch(store: Db, phone_number: str, switch: _Switch, on: bool) -> str:
    """Turn a setting of the phone on or off.

    Args:
        phone_number: the line of the phone.
        switch: the setting.
        on: whether it is on afterwards.
    """
    store.require("phones", phone_number=phone_number)
    store.update("phones", {"phone_number": phone_number}, **{switch: int(on)})
    return f"I have turned {switch_words(switch)} {'on' if on else 'off'}."


@tool
def set_network_mode(store: Db, phone_number: str, mode: Literal["automatic", "2G only"]) -> str:
    """Set the network mode of the phone.

    Args:
        phone_number: the line of the phone.
        mode: the mode.
    """
    store.require("phones", phone_number=phone_number)
    store.update("phones", {"phone_number": phone_number}, network_mode=mode)
    return f"The network mode is {mode} now."


@tool
def restore_access_point(store: Db, phone_number: str) -> str:
    """Restore the access point of the phone.

    Args:
        phone_number: the line of the phone.
    """
    store.require("phones", phone_number=phone_number)
    store.update("phones", {"phone_number": phone_number}, access_point="intact")
    return "I have restored the access point."


@tool
def reseat_sim_card(store: Db, phone_number: str) -> str:
    """Take the SIM card out and put it in again.

    Args:
        phone_number: the line of the phone.
    """
    phone = store.require("phones", phone_number=phone_number)
    if phone["sim_card"] == "locked":
        return "I have put the SIM card in again. It still says: SIM locked."
    store.update("phones", {"phone_number": phone_number}, sim_card="well")
    return "I have taken the SIM card out and put it in again."


@tool
def reset_all_settings(store: Db, phone_number: str) -> str:
    """Reset all settings of the phone.

    Args:
        phone_number: the line of the phone.
    """
    phone = store.require("phones", phone_number=phone_number)
    store.update(
        "phones",
        {"phone_number": phone_number},
        network_mode="automatic",
        access_point="intact",
        ringtone="standard",
        airplane_mode=0,
        mobile_data=1,
        data_roaming=phone["is_abroad"],
        data_saver=0,
        vpn=0,
        wifi_calling=0,
    )
    return "I have reset all settings."


@tool
def pay_bill(store: Db, phone_number: str) -> str:
    """Pay the bill that the network has asked for.

    Args:
        phone_number: the line.
    """
    bills = store.find("bills", phone_number=phone_number, requested=1, status="overdue")
    if not bills:
        raise RefusedCallError("I have no request for a bill that is still to be paid.")
    store.update("bills", {"bill_id": bills[0]["bill_id"]}, status="paid")
    return f"I have paid bill {bills[0]['bill_id']}."


AGENT_TOOLS = (
    find_customer,
    get_line,
    list_bills,
    request_payment,
    resume_line,
    enable_roaming,
    add_data,
    open_case,
)
USER_TOOLS = (
    look_at_status_bar,
    look_at_settings,
    look_at_sim_card,
    set_switch,
    set_network_mode,
    restore_access_point,
    reseat_sim_card,
    reset_all_settings,
    pay_bill,
)


def _status(phone: Row, line: Row) -> str:
    if phone["sim_card"] == "locked":
        return "SIM locked"
    if phone["airplane_mode"]:
        return "airplane mode"
    if phone["sim_card"] == "loose":
        return "no SIM card"
    if line["status"] == "suspended":
        return "no service"
    if not _has_data(phone, line):
        return "signal, but no data"
    return "signal and data"


def _has_data(phone: Row, line: Row) -> bool:
    at_home = not phone["is_abroad"]
    return bool(
        phone["mobile_data"]
        and phone["network_mode"] == "automatic"
        and phone["access_point"] == "intact"
        and not phone["vpn"]
        and line["data_used_gb"] < line["data_limit_gb"]
        and (at_home or (line["roaming"] and phone["data_roaming"]))
    )
