"""The faults of lines and phones, with their repair by the policy."""

from __future__ import annotations

from random import Random

from gem_envs_desk.content import about_customer, day
from gem_envs_desk.requests import INSISTS, DeskRequest, called, composed, misread
from gem_envs_desk.store import Row
from gem_envs_desk.task import USER, DeskCall, DeskTask, Hand, Slot, ToldFact, Wish
from gem_envs_desk.telecom.content import Network, switch_words

__all__ = ["DEVICE_FAULTS", "LINE_FAULTS", "hands_of", "telecom_task"]

_NUMBER = ("phone number", "mobile number", "your number", "which number", "which line", "line number", "number of the")
_DATA = (
    "2 gb for 10 euros",
    "2 gb",
    "10 euros",
    "more data",
    "add data",
    "additional data",
    "extra data",
    "2 gigabytes",
)
_PLACE = ("abroad", "travelling", "traveling", "where are you", "country", "at home", "location", "located")
_SINCE = ("since when", "how long", "when did", "when was")
_RESTARTED = (
    "restart",
    "restarted",
    "reboot",
    "rebooted",
    "turn your phone off",
    "turned your phone off",
    "power off",
    "turn it off and on",
)
_COMPLAINTS = (
    "The internet on my phone does not work. If I have to pay anything, tell me how much.",
    "I have no mobile data any more. Tell me the amount if there is something to pay.",
    "Nothing loads on my phone when I am out. If it costs anything, say how much.",
)
DEVICE_FAULTS = ("airplane mode", "mobile data", "network mode", "access point", "SIM card", "VPN")
LINE_FAULTS = ("overdue bill", "roaming", "used-up data")
_FINAL = ("locked SIM card", "contract has ended", "data for nothing", "line of somebody else")
"""Situations in which nothing is to be repaired."""

_SWITCHES = {
    "airplane_mode": (("airplane", "airplane mode", "flight mode", "aeroplane mode"), False),
    "mobile_data": (("mobile data", "cellular data", "your data"), True),
    "data_roaming": (("data roaming", "roaming"), True),
    "data_saver": (("data saver", "data saving"), False),
    "vpn": (("vpn", "vpns"), False),
    "wifi_calling": (("wi-fi calling", "wifi calling"), True),
}
"""Switch → the words for it, and whether it is on in a phone that works."""


def hands_of(phone_number: str) -> tuple[Hand, ...]:
    """Return what a customer does with their phone when asked, each with a request that they understand."""
    hands = [
        Hand(
            ("status bar", "see+screen"),
            _by_user("look_at_status_bar", phone_number),
            "What does the status bar say?",
            looks=True,
            devices=(
                "signal",
                "bars",
                "reception",
                "no service",
                "icon",
                "icons",
                "top of your screen",
                "top of the screen",
            ),
        ),
        Hand(
            (
                "look+settings",
                "open+settings",
                "check+settings",
                "see+settings",
                "settings+say",
                "go+settings",
                "read+settings",
            ),
            _by_user("look_at_settings", phone_number),
            "Please look at the settings of your phone. What do they say?",
            looks=True,
            devices=(
                *(name for names, _ in _SWITCHES.values() for name in names),
                "network mode",
                "network type",
                "access point",
                "apn",
                "settings",
                "2g",
            ),
        ),
        Hand(
            ("look+sim", "check+sim", "is+sim+loose", "is+sim+locked"),
            _by_user("look_at_sim_card", phone_number),
            "Please look at the SIM card.",
            looks=True,
            devices=("sim", "sim card"),
        ),
        Hand(
            ("restore+access point", "reset+access point", "restore+apn", "reset+apn"),
            _by_user("restore_access_point", phone_number),
            "Please restore the access point.",
            devices=("access point", "apn"),
        ),
        Hand(
            (
                "reseat+sim",
                "re-seat+sim",
                "take+sim+out",
                "take out+sim",
                "remove+sim",
                "reinsert+sim",
                "re-insert+sim",
                "eject+sim",
                "put+sim+back",
                "insert+sim",
                "pull+sim+out",
            ),
            _by_user("reseat_sim_card", phone_number),
            "Please take the SIM card out and put it in again.",
        ),
        Hand(
            tuple(
                f"{name}+automatic+{verb}"
                for name in ("network mode", "network type", "network", "preferred network")
                for verb in ("set", "switch", "change", "put", "select", "choose", "turn")
            ),
            _by_user("set_network_mode", phone_number, mode="automatic"),
            "Please set the network mode to automatic.",
            devices=("network mode", "network type"),
        ),
        Hand(
            (
                *(
                    f"reset {whose}{what}"
                    for whose in ("", "your ", "the ")
                    for what in ("settings", "phone", "device")
                ),
                "reset+all",
                "factory reset",
                "reset your phone's settings",
                "reset+to factory",
                "reset+phone settings",
            ),
            _by_user("reset_all_settings", phone_number),
            "Please reset all settings.",
        ),
        Hand(
            ("pay+bill", "pay+request", "make+payment", "pay+it", "pay+invoice", "pay+amount", "pay+overdue"),
            _by_user("pay_bill", phone_number),
            "Please pay the bill that I have just sent you a request for.",
            wants=("amount",),
        ),
    ]
    for switch, (names, _) in _SWITCHES.items():
        for on in (True, False):
            call = _by_user("set_switch", phone_number, switch=switch, on=on)
            word = "on" if on else "off"
            asks = tuple(f"{name}+turn {word}" for name in names)
            hands.append(Hand(asks, call, f"Please turn {switch_words(switch)} {word}.", devices=names))
    return tuple(hands)


class _Repairs:
    """Breaks the connection of one customer, and knows how it is repaired."""

    def __init__(self, rng: Random, network: Network, line: Row) -> None:
        self.rng, self.network, self.line = rng, network, line
        self.number: str = line["phone_number"]
        self.phone = network.row("phones", phone_number=self.number)
        self.facts: tuple[ToldFact, ...] = ()

    def device(self, fault: str) -> tuple[DeskCall, ...]:
        """Break the phone in one way and return the repair."""
        phone, number = self.phone, self.number
        if fault == "network mode":
            phone["network_mode"] = "2G only"
            return (_by_user("set_network_mode", number, mode="automatic"),)
        if fault == "access point":
            phone["access_point"] = "empty"
            return (_by_user("restore_access_point", number),)
        if fault == "SIM card":
            phone["sim_card"] = "loose"
            return (_by_user("reseat_sim_card", number),)
        switch = fault.lower().replace(" ", "_")
        on = _SWITCHES[switch][1]
        phone[switch] = int(not on)
        return (_by_user("set_switch", number, switch=switch, on=on),)

    def bill(self) -> DeskCall:
        """Make a bill overdue, suspend the line, and return the request to pay it."""
        (bill,) = self.network.rows("bills", phone_number=self.number, status="open")
        bill.update(status="overdue", due_on=day(self.rng.randint(10, 30)))
        self.line["status"] = "suspended"
        return called("request_payment", bill_id=bill["bill_id"])

    def on_line(self, fault: str) -> tuple[DeskCall, ...]:
        """Break the line in one way and return the repair."""
        if fault == "overdue bill":
            return (self.bill(), _by_user("pay_bill", self.number), called("resume_line", phone_number=self.number))
        if fault == "used-up data":
            return (self.use_up(),)
        self.phone.update(is_abroad=1, data_roaming=0)
        self.line["roaming"] = 0
        return (
            called("enable_roaming", phone_number=self.number),
            _by_user("set_switch", self.number, switch="data_roaming", on=True),
        )

    def use_up(self) -> DeskCall:
        """Use the data of the month up, and return the call that adds some."""
        self.line["data_used_gb"] = self.line["data_limit_gb"]
        return called("add_data", phone_number=self.number, gigabytes=2.0, price=10.0)

    def case(self, category: str) -> tuple[DeskCall, ...]:
        """Return the call that files a case."""
        return (called("open_case", subject=self.number, category=category),)


def telecom_task(number: int, level: int, split: str) -> DeskTask:
    """Return the task of a number: as many faults as the level says, or one that ends the matter."""
    rng = Random(f"telecom {split} {level} {number}")
    network = Network(rng, split)
    customer = rng.choice(network.tables["customers"])
    line = network.row("lines", customer_id=customer["customer_id"])
    final = rng.choice(_FINAL) if rng.random() < 0.3 else ""
    if final == "line of somebody else":
        line = rng.choice([other for other in network.tables["lines"] if other is not line])
    repairs = _Repairs(rng, network, line)
    reset = (_by_user("reset_all_settings", repairs.number),)
    wishes = {"says": rng.choice(_COMPLAINTS), "protest": ""}
    faults = _faults(rng, level)
    if final:
        # What else is wrong is left as it is.
        harmless = [fault for fault in faults if fault in DEVICE_FAULTS and fault != "SIM card"]
        if final == "data for nothing":
            harmless = []  # the phone could be repaired all the same
        ignored = [call for fault in harmless for call in repairs.device(fault)]
        gold, naive = _final(final, repairs, wishes, tuple(ignored) or reset)
        kind = final
    else:
        gold = tuple(
            call
            for fault in faults
            for call in (repairs.device(fault) if fault in DEVICE_FAULTS else repairs.on_line(fault))
        )
        naive = (*(call for call in gold if call.tool not in ("request_payment", "pay_bill")), *reset)
        kind = " + ".join(sorted(faults))
    if level > 1 and final:
        wishes["protest"] = rng.choice(INSISTS)
    wrong = ""
    if level > 1 and rng.random() < 0.3:
        known = {row["phone_number"] for row in network.tables["lines"]}
        wrong = f"My phone number is {misread(rng, repairs.number, known)}."
    where = "I am abroad, travelling." if repairs.phone["is_abroad"] else "I am at home."
    slots = (
        Slot("number", _NUMBER, f"My phone number is {repairs.number}.", wrong),
        Slot(
            "place",
            _PLACE,
            where,
            question="Where are you, at home or abroad?",
            choices=("abroad|travelling|traveling|foreign country", "at home|in your home country"),
        ),
        Slot(
            "data",
            _DATA,
            _about_data(final),
            question="If your data are used up, may I add 2 GB for 10 euros?",
            decides=True,
        ),
        Slot("reason", ("why", "reason"), "I want to use the internet on my phone.", extra=True),
        Slot("since", _SINCE, "Since this morning.", extra=True),
        Slot("restarted", _RESTARTED, "I have restarted it.", extra=True),
    )
    test = hands_of(repairs.number)[0].call
    wish = Wish(wishes["says"], "", wishes["protest"], slots, (), test=test, passes="signal and data")
    facts: tuple[ToldFact, ...] = ()
    if "overdue bill" in faults and not final:
        request = next(index for index, call in enumerate(gold) if call.tool == "request_payment")
        (bill,) = network.rows("bills", phone_number=repairs.number, status="overdue")
        facts = (ToldFact(bill["amount"], request, "The bill comes to"),)
    request_ = DeskRequest(kind, wish, gold, facts, naive)
    hands = hands_of(repairs.number)
    return composed(rng, [request_], network.tables, level=level, slots=about_customer(customer), hands=hands)


def _faults(rng: Random, level: int) -> list[str]:
    """Return as many faults as the level says; from level 2 on, one of them is on the line."""
    on_line = [rng.choice(LINE_FAULTS)] if level > 1 or rng.random() < 0.4 else []
    return [*on_line, *rng.sample(DEVICE_FAULTS, level - len(on_line))]


def _final(
    final: str, repairs: _Repairs, wishes: dict[str, str], ignored: tuple[DeskCall, ...]
) -> tuple[tuple[DeskCall, ...], tuple[DeskCall, ...]]:
    """Set up a situation that is not to be repaired; return the right calls and the naive ones."""
    if final == "locked SIM card":
        repairs.phone["sim_card"] = "locked"
        return repairs.case("visit a shop"), ignored
    if final == "contract has ended":
        repairs.bill()
        repairs.line["contract_ends"] = day(repairs.rng.randint(5, 90))
        return repairs.case("refused request"), (called("resume_line", phone_number=repairs.number),)
    if final == "data for nothing":
        add = repairs.use_up()
        wishes["says"] = "My data are used up, and I want 2 GB more. I will not pay for them."
        return repairs.case("refused request"), (called(add.tool, **{**add.arguments, "price": 0.0}),)
    return repairs.case("identity not verified"), ignored


def _about_data(final: str) -> str:
    return "I will not pay for that." if final == "data for nothing" else "Yes, I agree to that."


def _by_user(tool: str, phone_number: str, **arguments: object) -> DeskCall:
    return DeskCall(tool, {"phone_number": phone_number, **arguments}, USER)
