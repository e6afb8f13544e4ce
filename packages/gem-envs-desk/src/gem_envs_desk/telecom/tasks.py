"""The faults of lines and phones, with their repair by the policy."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from gem.tables import read_table
from gem_envs_desk.content import day
from gem_envs_desk.phrases import Phrases
from gem_envs_desk.request_maker import RequestMaker
from gem_envs_desk.requests import CANNOT_HELP, DeskRequest, Words, called, desk_phrases
from gem_envs_desk.store import Row
from gem_envs_desk.task import USER, DeskCall, DeskTask, Hand, Slot, ToldFact, Wish
from gem_envs_desk.telecom.content import Network, switch_words

__all__ = ["DEVICE_FAULTS", "GROUNDS", "LINE_FAULTS", "PHRASES", "hands_of", "telecom_task"]

_WORDS = read_table(__file__, "words.json")
PHRASES = desk_phrases(read_table(__file__, "phrases.json"))
"""How customers raise their wishes where their words vary."""
_ASKS = {name: tuple(words) for name, words in _WORDS["asks"].items()}
"""Slot → the words that ask for it."""
DEVICE_FAULTS = ("airplane mode", "mobile data", "network mode", "access point", "SIM card", "VPN")
LINE_FAULTS = ("overdue bill", "roaming", "used-up data")
_FINAL = ("locked SIM card", "contract has ended", "data for nothing", "line of somebody else")
"""Situations in which nothing is to be repaired."""
_GROUNDS = dict(zip(_FINAL, ("SIM card locked", "contract ended", "not for nothing", CANNOT_HELP), strict=True))
GROUNDS = tuple(_GROUNDS.values())
"""Why the policy refuses a wish."""

_PAYMENT = ("request_payment", "pay_bill", "resume_line")
"""What an overdue bill takes; a line is not resumed before it is paid."""

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


class _Repairs(RequestMaker[Network]):
    """Breaks the connection of one customer, and knows how it is repaired."""

    table, slot, asks = "lines", "number", _ASKS["number"]
    names, why = "My phone number is {}.", ("why", "reason")

    def __init__(self, rng: Random, network: Network, customer: Row, level: int, line: Row) -> None:
        super().__init__(rng, network, customer, level)
        self.network, self.line = network, line
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
        """Return what a customer agrees to who cannot see the line, and pays so much for data; 0 for nothing at all."""
        line = {"phone_number": self.number}
        roaming = [called("enable_roaming", **line)] if self.phone["is_abroad"] else []
        add = called("add_data", **line, gigabytes=2.0, price=price)
        request = [called("request_payment", bill_id="")] if price else []
        return (*request, called("resume_line", **line), add, *roaming)

    def use_up(self) -> DeskCall:
        """Use the data of the month up, and return the call that adds some."""
        self.line["data_used_gb"] = self.line["data_limit_gb"]
        return called("add_data", phone_number=self.number, gigabytes=2.0, price=10.0)


def telecom_task(rng: Random, level: int, split: str, wishes: int, phrases: Phrases | None = None) -> DeskTask:
    """Return a task: a connection with as many faults as the level says, or one that ends the matter, and questions.

    Args:
        rng: draws it.
        level: 1 to 3.
        split: decides the names.
        wishes: 1 for the connection alone; the further ones are questions about the customer's own line.
        phrases: the customer's words; with them, lines have a history.
    """
    network = Network(rng, split)
    if phrases is not None:
        network.add_histories()
    customer = rng.choice(network.tables["customers"])
    share = 0.3 if phrases is None else 0.6
    requests = [_connection(rng, network, customer, level, share)]
    if wishes > 1:
        requests = rng.sample([*requests, *_questions(rng, network, customer, wishes - 1)], wishes)
        # Who has told their number rightly is not mistaken about it afterwards.
        requests = [*requests[:1], *map(_without_mistake, requests[1:])]
    (tested,) = (request.wish.test for request in requests if request.wish.test is not None)
    hands = hands_of(tested.arguments["phone_number"])
    return RequestMaker(rng, network, customer, level).task(requests, phrases, hands=hands)


def _questions(rng: Random, network: Network, customer: Row, number: int) -> list[DeskRequest]:
    """Ask for so many things about the customer's own line, at most two, which no one call tells."""
    line = network.row("lines", customer_id=customer["customer_id"])
    phone = line["phone_number"]
    bills = sorted(network.rows("bills", phone_number=phone), key=lambda bill: str(bill["due_on"]))
    (*_, paid) = (bill for bill in bills if bill["status"] == "paid")
    get, bill_list = called("get_line", phone_number=phone), called("list_bills", phone_number=phone)
    # A date that line and bills share would be told by either.
    is_shared = any(bill["due_on"] == line["contract_ends"] for bill in bills)
    contract_end = ("contract_end", ToldFact(line["contract_ends"], 0, "It ends on", "contract end"))
    of_line = [
        *([] if is_shared else [contract_end]),
        ("plan", ToldFact(line["plan"], 0, "It is", "plan")),
    ]
    # Who pays an overdue bill in this conversation would mean that one by the last bill.
    is_overdue = any(bill["status"] == "overdue" for bill in bills)
    of_bills = [
        ("earlier_bill" if is_overdue else "paid_bill", ToldFact(paid["amount"], 0, "It came to", "paid bill")),
        *(
            ("due_date", ToldFact(bill["due_on"], 0, "It is due on", "due date"))
            for bill in bills
            if bill["status"] == "open" and not is_shared
        ),
    ]
    asked = rng.sample([(get, *rng.choice(of_line)), (bill_list, *rng.choice(of_bills))], number)
    slot = Slot("number", _ASKS["number"], f"My own phone number is {phone}.")
    return [
        DeskRequest("question", Wish("", slots=(slot,)), (call,), (fact,), words=Words(row, {"day": paid["due_on"]}))
        for call, row, fact in asked
    ]


def _connection(rng: Random, network: Network, customer: Row, level: int, final_share: float) -> DeskRequest:
    """Miss the connection: as many faults as the level says, or one that ends the matter."""
    line = network.row("lines", customer_id=customer["customer_id"])
    final = rng.choice(_FINAL) if rng.random() < final_share else ""
    if final == "line of somebody else":
        line = rng.choice([other for other in network.tables["lines"] if other is not line])
    repairs = _Repairs(rng, network, customer, level, line)
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
    wishes["protest"] = repairs.protest(bool(final))
    number = repairs.record_slot(repairs.number)
    where = "I am abroad, travelling." if repairs.phone["is_abroad"] else "I am at home."
    slots = (
        number,
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
        repairs.reason("I want to use the internet on my phone."),
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
    words = Words("no_data" if final == "data for nothing" else "no_connection")
    return DeskRequest(kind, wish, gold, facts, naive, grounds, agrees, order=_PAYMENT, words=words)


def _without_mistake(request: DeskRequest) -> DeskRequest:
    """Return a request about the customer's own line whose number they do not get wrong."""
    if CANNOT_HELP in request.grounds:
        return request
    slots = tuple(replace(slot, wrong="") for slot in request.wish.slots)
    return replace(request, wish=replace(request.wish, slots=slots))


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
        return repairs.case(repairs.number, "visit a shop"), ignored
    if final == "contract has ended":
        repairs.bill()
        repairs.line["contract_ends"] = day(repairs.rng.randint(5, 90))
        return repairs.case(repairs.number), (called("resume_line", phone_number=repairs.number),)
    if final == "data for nothing":
        add = repairs.use_up()
        wishes["says"] = "My data are used up, and I want 2 GB more. I will not pay for them."
        return repairs.case(repairs.number), (called(add.tool, **{**add.arguments, "price": 0.0}),)
    return repairs.case(repairs.number, "identity not verified"), ignored


def _about_data(final: str) -> str:
    return "I will not pay for that." if final == "data for nothing" else "Yes, I agree to that."


def _by_user(tool: str, phone_number: str, **arguments: object) -> DeskCall:
    return DeskCall(tool, {"phone_number": phone_number, **arguments}, USER)
