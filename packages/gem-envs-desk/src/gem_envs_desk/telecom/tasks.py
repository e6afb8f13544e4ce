"""The faults of lines and phones, with their repair by the policy."""

from __future__ import annotations

from random import Random

from gem.tables import read_table
from gem_envs_desk.acts.attacks import acts_task
from gem_envs_desk.content import about_customer, day
from gem_envs_desk.requests import CANNOT_HELP, INSISTS, DeskRequest, called, composed, misread
from gem_envs_desk.store import Row
from gem_envs_desk.task import USER, DeskCall, DeskTask, Hand, Slot, ToldFact, Wish
from gem_envs_desk.telecom.content import Network, switch_words

__all__ = ["DEVICE_FAULTS", "GROUNDS", "LINE_FAULTS", "hands_of", "telecom_acts_task", "telecom_task"]

_WORDS = read_table(__file__, "words.json")
_ASKS = {name: tuple(words) for name, words in _WORDS["asks"].items()}
"""Slot → the words that ask for it."""
DEVICE_FAULTS = ("airplane mode", "mobile data", "network mode", "access point", "SIM card", "VPN")
LINE_FAULTS = ("overdue bill", "roaming", "used-up data")
_FINAL = ("locked SIM card", "contract has ended", "data for nothing", "line of somebody else")
"""Situations in which nothing is to be repaired."""
_GROUNDS = dict(zip(_FINAL, ("SIM card locked", "contract ended", "not for nothing", CANNOT_HELP), strict=True))
GROUNDS = tuple(_GROUNDS.values())
"""Why the policy refuses a wish."""

_SWITCHES: dict[str, tuple[tuple[str, ...], bool]] = {
    name: (tuple(row["names"]), row["works"]) for name, row in _WORDS["switches"].items()
}
"""Switch → the words for it, and whether it is on in a phone that works."""


def hands_of(phone_number: str) -> tuple[Hand, ...]:
    """Return what a customer does with their phone when asked, each with a request that they understand."""
    hands = [
        Hand(
            tuple(row["asks"]),
            _by_user(row["tool"], phone_number, **row.get("arguments", {})),
            row["request"],
            looks=row.get("looks", False),
            devices=tuple(row.get("devices", ())),
            wants=tuple(row.get("wants", ())),
        )
        for row in _WORDS["hands"]
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

    def agreed(self, price: float) -> tuple[DeskCall, ...]:
        """Return what a customer agrees to who cannot see the line, and pays so much for data."""
        line = {"phone_number": self.number}
        roaming = [called("enable_roaming", **line)] if self.phone["is_abroad"] else []
        add = called("add_data", **line, gigabytes=2.0, price=price)
        return (called("request_payment", bill_id=""), called("resume_line", **line), add, *roaming)

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
    return _composed(rng, network, customer, level, [_connection(rng, network, customer, level)])


def telecom_acts_task(number: int, level: int, split: str) -> DeskTask:
    """Return a task for typed speech acts: as many faults as the level says, and a question about the own line."""

    def make(rng: Random, hard: int, wishes: int) -> DeskTask:
        del wishes  # there is one line to repair
        network = Network(rng, split)
        customer = rng.choice(network.tables["customers"])
        connection = _connection(rng, network, customer, hard, final_share=0.6)
        return _composed(rng, network, customer, hard, rng.sample([connection, _question(rng, network, customer)], 2))

    return acts_task(f"telecom acts {split} {level} {number}", level, make, table="lines", key="phone_number")


def _composed(rng: Random, network: Network, customer: Row, level: int, requests: list[DeskRequest]) -> DeskTask:
    (tested,) = (request.wish.test for request in requests if request.wish.test is not None)
    hands, identifier = hands_of(tested.arguments["phone_number"]), customer["customer_id"]
    slots = about_customer(customer)
    return composed(rng, requests, network.tables, level=level, slots=slots, hands=hands, customer=identifier)


def _question(rng: Random, network: Network, customer: Row) -> DeskRequest:
    """Ask for a date of the customer's own line."""
    line = network.row("lines", customer_id=customer["customer_id"])
    number = line["phone_number"]
    due = network.rows("bills", phone_number=number, status="open")
    if due and rng.random() < 0.5:
        says, call = "When is the next bill of my line due?", called("list_bills", phone_number=number)
        fact = ToldFact(due[0]["due_on"], 0, "It is due on", "due date")
    else:
        says, call = "When does the contract of my line end?", called("get_line", phone_number=number)
        fact = ToldFact(line["contract_ends"], 0, "It ends on", "contract end")
    slot = Slot("number", _ASKS["number"], f"My own phone number is {number}.")
    return DeskRequest("question", Wish(says, slots=(slot,)), (call,), (fact,))


def _connection(rng: Random, network: Network, customer: Row, level: int, *, final_share: float = 0.3) -> DeskRequest:
    """Miss the connection: as many faults as the level says, or one that ends the matter."""
    line = network.row("lines", customer_id=customer["customer_id"])
    final = rng.choice(_FINAL) if rng.random() < final_share else ""
    if final == "line of somebody else":
        line = rng.choice([other for other in network.tables["lines"] if other is not line])
    repairs = _Repairs(rng, network, line)
    reset = (_by_user("reset_all_settings", repairs.number),)
    wishes = {"says": rng.choice(_WORDS["complaints"]), "protest": ""}
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
        Slot("number", _ASKS["number"], f"My phone number is {repairs.number}.", wrong),
        Slot(
            "place",
            _ASKS["place"],
            where,
            question="Where are you, at home or abroad?",
            choices=("abroad|travelling|traveling|foreign country", "at home|in your home country"),
        ),
        Slot(
            "data",
            _ASKS["data"],
            _about_data(final),
            question="If your data are used up, may I add 2 GB for 10 euros?",
            decides=True,
        ),
        Slot("reason", ("why", "reason"), "I want to use the internet on my phone.", extra=True),
        Slot("since", _ASKS["since"], "Since this morning.", extra=True),
        Slot("restarted", _ASKS["restarted"], "I have restarted it.", extra=True),
    )
    test = hands_of(repairs.number)[0].call
    wish = Wish(wishes["says"], "", wishes["protest"], slots, (), test=test, passes="signal and data")
    facts: tuple[ToldFact, ...] = ()
    if "overdue bill" in faults and not final:
        request = next(index for index, call in enumerate(gold) if call.tool == "request_payment")
        (bill,) = network.rows("bills", phone_number=repairs.number, status="overdue")
        facts = (ToldFact(bill["amount"], request, "The bill comes to", "bill"),)
    grounds = (_GROUNDS[final],) if final else ()
    agrees = repairs.agreed(0.0 if final == "data for nothing" else 10.0)
    return DeskRequest(kind, wish, gold, facts, naive, grounds, agrees)


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
