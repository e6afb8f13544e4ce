"""What holds of the wishes of all desks: refusals, changes of mind, facts, and the calls of who reads no policy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from gem_envs_desk.acts.env import ActDomain
from gem_envs_desk.airline.content import Airline
from gem_envs_desk.airline.env import AirlineActsDomain, AirlineDomain
from gem_envs_desk.airline.tasks import PassengerRequests, is_recent
from gem_envs_desk.domain import DeskDomain, carried_out
from gem_envs_desk.library.content import Library
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.library.tasks import ReaderRequests
from gem_envs_desk.request_maker import RequestMaker
from gem_envs_desk.requests import DeskRequest
from gem_envs_desk.retail.content import Shop
from gem_envs_desk.retail.env import RetailActsDomain, RetailDomain
from gem_envs_desk.retail.tasks import ShopperRequests, comes_too_late
from gem_envs_desk.store import differences
from gem_envs_desk.task import CASE, Aim, DeskCall, DeskTask, Wish
from gem_envs_desk.telecom.content import Network
from gem_envs_desk.telecom.env import TelecomActsDomain, TelecomDomain
from gem_envs_desk.telecom.tasks import DEVICE_FAULTS, LINE_FAULTS, _faults, _questions, _Repairs

DOMAINS: list[ActDomain] = [RetailActsDomain(), AirlineActsDomain(), TelecomActsDomain(), LibraryActsDomain()]
MAKERS: list[tuple[type[RequestMaker[Any]], type[Any]]] = [
    (ShopperRequests, Shop), (PassengerRequests, Airline), (ReaderRequests, Library),
]  # fmt: skip
DOMAIN = pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
DRAWS = 30
OLDER_NETWORK = TelecomDomain()

Drawn = tuple[DeskRequest, Any, dict[str, Any]]


@cache
def tasks(domain: DeskDomain, level: int, count: int) -> tuple[DeskTask, ...]:
    """Return the first tasks of a level."""
    return tuple(domain.task(number, level, "train") for number in range(count))


def wishes(domain: DeskDomain, level: int, count: int) -> Iterator[tuple[DeskTask, Wish, Aim]]:
    """Yield the wishes of tasks with what they come to."""
    for task in tasks(domain, level, count):
        assert task.script is not None
        yield from ((task, wish, aim) for wish, aim in zip(task.script.wishes, task.aims, strict=True))


@cache
def drawn(maker: type[RequestMaker[Any]], content: type[Any], kind: str) -> list[Drawn]:
    """Return requests of a kind, with the tables and the customer."""
    found: list[Drawn] = []
    for seed in range(DRAWS):
        rng = Random(seed)
        made = content(rng, "train")
        customer = rng.choice(made.tables["customers"])
        found.append((maker.kinds[kind](maker(rng, made, customer, 2)), made, customer))
    return found


def says(request: DeskRequest, name: str) -> str:
    """Return what the customer says of a topic at last."""
    slot = next(slot for slot in request.wish.slots if slot.name == name)
    return slot.after_change if request.wish.change else slot.says


@DOMAIN
def test_customers_insist_if_they_are_refused_and_only_then(domain: ActDomain) -> None:
    """From level 2 on; who is refused never changes their mind."""
    for _, wish, aim in wishes(domain, 2, 40):
        assert bool(wish.protest) == bool(aim.grounds)
        assert not (aim.grounds and wish.change)
        assert bool(wish.change) == bool(aim.first)


@pytest.mark.parametrize(("maker", "content"), MAKERS)
def test_a_kind_says_whether_a_wish_is_refused_or_changed(maker: type[RequestMaker[Any]], content: type[Any]) -> None:
    """By which tasks are counted; the naive calls differ from the right ones, and each fact has its call."""
    for kind in maker.kinds:
        for request, _, _ in drawn(maker, content, kind):
            assert bool(request.grounds) == bool(re.search("refused|somebody else", request.kind)), request.kind
            if maker is not ReaderRequests:
                assert bool(request.wish.change) == ("changed mind" in request.kind)
            assert request.naive != request.gold
            assert request.naive is not None or not (request.grounds or request.wish.change)
            assert all(0 <= fact.source < len(request.gold) for fact in request.facts)
            assert bool(request.wish.protest) == bool(request.grounds)


@DOMAIN
def test_gold_calls_and_naive_calls_can_be_made(domain: ActDomain) -> None:
    """What the policy forbids is possible, and leads to another end."""
    naive = 0
    for task in tasks(domain, 2, 12):
        world, other = domain.open(task.state), domain.open(task.state)
        for call in task.gold:
            assert carried_out(world, call).ok, call
        if task.naive is not None:
            results = [carried_out(other, call) for call in task.naive]
            assert all(result.ok for result in results), [result.text for result in results if not result.ok]
            assert differences(world.dump(), other.dump(), 1)
            naive += 1
    assert naive >= 5


@DOMAIN
def test_the_first_calls_of_who_changes_their_mind_are_not_the_last(domain: ActDomain) -> None:
    """They are of the same tool and can be made, and what is agreed to afterwards are the gold calls."""
    for task, wish, aim in wishes(domain, 2, 40):
        if wish.change:
            assert [call.tool for call in aim.first] == [call.tool for call in aim.gold]
            assert aim.first != aim.gold
            assert aim.agrees == aim.gold
            world = domain.open(task.state)
            assert all(carried_out(world, call).ok for call in aim.first)


@pytest.mark.parametrize("domain", [RetailDomain(), AirlineDomain(), TelecomDomain()], ids=lambda domain: domain.name)
def test_at_the_older_desks_a_level_is_a_number_of_wishes(domain: DeskDomain) -> None:
    """At the network there is one, with as many faults; nobody has a history."""
    sizes = {"retail": ("orders", 30), "airline": ("bookings", 20), "telecom": ("bills", 24)}
    table, rows = sizes[domain.name]
    for level in (1, 3):
        for task in tasks(domain, level, 4):
            assert task.script is not None
            assert len(task.script.wishes) == (1 if domain.name == "telecom" else level)
            assert len(task.state[table]) <= rows + (0 if domain.name == "telecom" else level)


@pytest.mark.parametrize(
    ("days", "tier", "is_late"),
    [(30, "standard", False), (31, "standard", True), (60, "plus", False), (61, "plus", True)],
)
def test_an_item_comes_back_on_the_last_day_and_not_on_the_next(days: int, tier: str, is_late: bool) -> None:
    """Shop, sentence 6; tasks keep away from the limit."""
    assert comes_too_late(days, tier) is is_late


@pytest.mark.parametrize(("days", "expected"), [(0, True), (1, True), (2, False)])
def test_a_booking_of_the_day_before_yesterday_is_not_recent(days: int, expected: bool) -> None:
    """Airline, sentence 3."""
    assert is_recent(days) is expected


def test_money_goes_to_the_gift_card_if_that_is_said() -> None:
    """Shop, sentence 7: else to where it came from; who ignores the policy pays the whole price."""
    seen = set()
    for request, shop, _ in drawn(ShopperRequests, Shop, "refund"):
        (asked,) = request.gold if request.naive is None or not request.grounds else request.naive
        order = shop.row("orders", order_id=asked.arguments["order_id"])
        paid, target = (
            shop.row("payment_methods", payment_id=one)["kind"]
            for one in (order["payment_id"], asked.arguments["payment_id"])
        )
        assert ("on my gift card" in says(request, "target")) == (paid != target)
        assert request.words.values["where"] in says(request, "target")
        seen.add((paid, target))
        line = shop.row("order_lines", order_id=order["order_id"], item_id=asked.arguments["item_id"])
        if request.naive is not None:
            assert request.naive[0].arguments["amount"] == line["price"]
        assert (request.naive is None) == (request.kind == "refund")
        assert re.search(r"I also want to send .* of another order", request.wish.again)
    assert seen == {("card", "card"), ("card", "gift_card"), ("gift_card", "gift_card")}


def variant(shop: Shop, item_id: str) -> str:
    """Return how a customer names a variant."""
    item = shop.row("items", item_id=item_id)
    return f"{item['colour']}, {item['size']}"


def test_the_variant_that_is_named_last_is_the_one_that_is_sent() -> None:
    """Shop, sentence 5: what is wanted at first is what the customer says first."""
    seen = set()
    for request, shop, _ in drawn(ShopperRequests, Shop, "swap"):
        (call,) = request.gold if not request.grounds else (request.naive or ())
        slot = next(slot for slot in request.wish.slots if slot.name == "variant")
        assert f"want it in {variant(shop, call.arguments['new_item_id'])}" in says(request, "variant")
        assert f"in {variant(shop, call.arguments['old_item_id'])}," in slot.says
        (first,) = request.naive or request.gold
        assert variant(shop, first.arguments["new_item_id"]) in request.wish.says
        items = shop.rows("items", product=shop.row("items", item_id=call.arguments["old_item_id"])["product"])
        assert {*slot.choices} == {value for item in items for value in (item["colour"], item["size"])}
        seen.add((bool(request.grounds), bool(request.wish.change)))
    assert seen == {(True, False), (False, True), (False, False)}


def test_a_price_that_is_asked_for_is_that_of_the_variant() -> None:
    """Its customer knows colour and size, and neither product takes "an" nor any vowel "a"."""
    for request, shop, _ in drawn(ShopperRequests, Shop, "price"):
        (fact,) = request.facts
        (item,) = (item for item in shop.tables["items"] if item["price"] == fact.value)
        assert variant(shop, item["item_id"]) in request.wish.says
        items = shop.rows("items", product=item["product"])
        assert {*request.wish.slots[0].choices} == {value for one in items for value in (one["colour"], one["size"])}
        assert request.gold == (DeskCall("list_items", {"product": item["product"]}),)
    for kind in ("price", "swap"):
        for request, _, _ in drawn(ShopperRequests, Shop, kind):
            assert re.match(r"a [^aeiou]|an [aeiou]", request.words.values["a_product"])


def test_an_order_goes_to_the_address_that_is_named_last() -> None:
    """Shop, sentence 4: a pending order of the customer's own; a house with the number of a price has a letter."""
    seen = set()
    for request, shop, customer in drawn(ShopperRequests, Shop, "address"):
        (call,), (first,) = request.gold, request.naive or request.gold
        order = shop.row("orders", order_id=call.arguments["order_id"])
        assert (order["customer_id"], order["status"]) == (customer["customer_id"], "pending")
        places = ["{street}, {zip_code} {city}".format(**one.arguments) for one in (call, first)]
        slot = next(slot for slot in request.wish.slots if slot.name == "address")
        assert places[0] in says(request, "address")
        assert places[1] in slot.says
        prices = {price for item in shop.tables["items"] for price in (item["price"], round(item["price"] * 0.9, 2))}
        for place in (call.arguments["street"], first.arguments["street"]):
            number, letter = re.fullmatch(r"(\d+)(a?) .*", place).groups()  # type: ignore[union-attr]
            assert bool(letter) == (float(number) in prices)
        assert not request.grounds
        seen.add(bool(request.wish.change))
    assert seen == {True, False}


@pytest.mark.parametrize("kind", ["cancel", "cancel refused", "refund", "swap", "lost"])
def test_a_customer_knows_where_an_order_goes_unless_that_would_tell_an_amount(kind: str) -> None:
    """A house whose number is a price is not mentioned; whoever wants a deed says it when asked for the wish."""
    for request, shop, _ in drawn(ShopperRequests, Shop, kind):
        call = request.gold[0]
        order = shop.row("orders", order_id=call.arguments.get("order_id") or call.arguments["subject"])
        prices = {price for item in shop.tables["items"] for price in (item["price"], round(item["price"] * 0.9, 2))}
        slots = {slot.name: slot for slot in request.wish.slots}
        assert ("delivery address" in slots) == (float(order["street"].split()[0]) not in prices)
        assert ("wish" in slots) == (kind != "lost")
        if "wish" in slots:
            assert slots["wish"].says == request.wish.says


def test_who_flies_on_another_day_may_forget_the_fee_alone() -> None:
    """Airline, sentence 4: the naive charge is the difference of the fares, or nothing."""
    for request, airline, _ in drawn(PassengerRequests, Airline, "rebook"):
        if request.naive is None:
            continue
        (call,) = request.naive
        booking = airline.row("bookings", booking_code=call.arguments["booking_code"])
        fare = airline.row("flights", flight_id=call.arguments["flight_id"])[f"{booking['cabin']}_fare"]
        assert call.arguments["charge"] == max(fare - booking["fare_paid"], 0)


@pytest.mark.parametrize(("seats", "free"), [((0, 5, 0), {1}), ((0, 0, 0), {0, 1, 2}), ((2, 0, 7), {0, 2})])
def test_a_seat_is_added_only_to_a_day_that_has_none(seats: tuple[int, ...], free: set[int]) -> None:
    """Airline: full flights stay full, so that the earliest is not always the answer."""
    for seed in range(4):
        airline = Airline(Random(seed), "train")
        maker = PassengerRequests(Random(seed), airline, airline.tables["customers"][0], 2)
        flight = airline.tables["flights"][0]
        route = {"origin": flight["origin"], "destination": flight["destination"], "date": "2026-05-18"}
        day = airline.rows("flights", **route)
        for row, count in zip(day, seats, strict=True):
            row["economy_seats"] = count
        best, _ = maker._best(flight, "economy", "2026-05-18")
        now = [row["economy_seats"] for row in day]
        assert day.index(best) in free
        assert best["economy_seats"] > 0
        assert now == [*seats] if any(seats) else sum(count > 0 for count in now) == 1


def test_the_last_seat_in_business_is_enough() -> None:
    """Airline, sentence 5: there are upgrades to it, and to business alone."""
    seats = set()
    for request, airline, _ in drawn(PassengerRequests, Airline, "upgrade"):
        (call,) = request.naive or request.gold
        assert call.arguments["cabin"] == "business"
        booking = airline.row("bookings", booking_code=call.arguments["booking_code"])
        seats.add(airline.row("flights", flight_id=booking["flight_id"])["business_seats"])
    assert 1 in seats
    assert 0 not in seats


def test_bags_by_steps_are_all_the_ways_and_five_are_refused() -> None:
    """Airline, sentence 6: each step has more bags; who asks for five would agree to them, or be given four."""
    seen = set()
    for request, airline, _ in drawn(PassengerRequests, Airline, "bags"):
        code = request.gold[0].arguments.get("booking_code") or request.gold[0].arguments["subject"]
        had = airline.row("bookings", booking_code=code)["bags"]
        wanted = int(request.words.values["count"])
        if wanted > 4:
            charges = [call.arguments for call in (*(request.naive or ()), *(request.agrees or ()))]
            assert [(one["bags"], one["charge"]) for one in charges] == [(4, 35 * (4 - had)), (5, 35 * (5 - had))]
        else:
            counts = [[call.arguments["bags"] for call in way] for way in (request.gold, *request.ways)]
            assert len(counts) == 2 ** (wanted - had - 1) == len({*map(tuple, counts)})
            assert all(one == sorted({*one}) and one[0] > had and one[-1] == wanted for one in counts)
        seen.add((had, wanted))
    assert {had for had, _ in seen} == {0, 1}
    assert {wanted for _, wanted in seen} == {2, 3, 4, 5}


def test_who_cancels_without_the_policy_is_paid_the_whole_fare() -> None:
    """Airline, sentence 3: where that is not right."""
    for request, airline, _ in drawn(PassengerRequests, Airline, "cancel"):
        if request.naive is not None:
            (call,) = request.naive
            booking = airline.row("bookings", booking_code=call.arguments["booking_code"])
            assert call.arguments["refund"] == booking["fare_paid"]


def test_readers_have_three_holds_at_most_of_titles_that_are_out() -> None:
    """Library, sentence 4: books are asked for more often than films, and a title that is held is not in."""
    media: Counter[str] = Counter()
    for kind in ("hold", "pick-up"):
        for request, library, reader in drawn(ReaderRequests, Library, kind):
            holds = library.rows("holds", customer_id=reader["customer_id"])
            assert len(holds) <= 3
            titles = [library.row("titles", title_id=hold["title_id"]) for hold in library.tables["holds"]]
            assert {title["copies_in"] for title in titles} == {0}
            if kind == "hold":
                assert request.naive is None or request.naive[0].tool == "place_hold"
                (call,) = request.naive or request.gold
                media[library.row("titles", title_id=call.arguments["title_id"])["medium"]] += 1
    assert media["film"] < media["book"] / 2


@pytest.mark.parametrize("kind", ["lost", "due", "stranger", "fine"])
def test_a_loan_that_is_not_to_be_renewed_never_was(kind: str) -> None:
    """Library: renewals decide about nothing else."""
    for request, library, _ in drawn(ReaderRequests, Library, kind):
        for call in request.gold:
            loan_id = call.arguments.get("loan_id") or call.arguments.get("subject")
            assert all(loan["renewals"] == 0 for loan in library.rows("loans", loan_id=loan_id))


def test_a_fine_is_not_waived_on_the_first_open_day_after_a_closing() -> None:
    """Library, sentence 6: the nearest wrong neighbour of a day on which it was closed."""
    for request, library, _ in drawn(ReaderRequests, Library, "fine"):
        if request.grounds:
            due = library.row("fines", loan_id=request.gold[0].arguments["subject"])["was_due_on"]
            closings = {row["closed_on"] for row in library.tables["closings"]}
            maker = ReaderRequests(Random(0), library, library.tables["customers"][0], 1)
            assert due in {maker._open_day(closed_on) for closed_on in closings}
            assert due not in closings
    library = Library(Random(0), "train")
    library.tables["closings"] = [{"closed_on": f"2026-03-0{day}", "why": "storm"} for day in (1, 2, 4)]
    maker = ReaderRequests(Random(0), library, library.tables["customers"][0], 1)
    assert [maker._open_day(f"2026-03-0{day}") for day in (1, 2, 4)] == ["2026-03-03", "2026-03-03", "2026-03-05"]


def repairs(seed: int = 0) -> _Repairs:
    """Return what breaks the connection of a customer."""
    network = Network(Random(seed), "train")
    customer = network.tables["customers"][0]
    line = network.row("lines", customer_id=customer["customer_id"])
    return _Repairs(Random(seed), network, customer, 2, line)


@pytest.mark.parametrize(
    ("fault", "broken", "calls"),
    [
        ("airplane mode", {"airplane_mode": 1}, [("set_switch", {"switch": "airplane_mode", "on": False})]),
        ("mobile data", {"mobile_data": 0}, [("set_switch", {"switch": "mobile_data", "on": True})]),
        ("VPN", {"vpn": 1}, [("set_switch", {"switch": "vpn", "on": False})]),
        ("network mode", {"network_mode": "2G only"}, [("set_network_mode", {"mode": "automatic"})]),
        ("access point", {"access_point": "empty"}, [("restore_access_point", {})]),
        ("SIM card", {"sim_card": "loose"}, [("reseat_sim_card", {})]),
        ("roaming", {"is_abroad": 1, "data_roaming": 0},
         [("enable_roaming", {}), ("set_switch", {"switch": "data_roaming", "on": True})]),
        ("used-up data", {}, [("add_data", {"gigabytes": 2.0, "price": 10.0})]),
        ("overdue bill", {}, [("request_payment", None), ("pay_bill", {}), ("resume_line", {})]),
    ],
)  # fmt: skip
def test_a_fault_breaks_one_thing_and_its_repair_mends_it(
    fault: str, broken: dict[str, Any], calls: list[tuple[str, dict[str, Any] | None]]
) -> None:
    """Network, sentences 3 to 7: afterwards the phone shows signal and data, and before it does not."""
    own = repairs()
    own.phone["data_roaming"] = 1
    before = dict(own.phone)
    made = own.device(fault) if fault in DEVICE_FAULTS else own.on_line(fault)
    assert {name: value for name, value in own.phone.items() if value != before[name]} == broken
    number = {"phone_number": own.number}
    (bill,) = (row for row in own.network.rows("bills", phone_number=own.number) if row["status"] != "paid")
    expected = [
        (tool, {"bill_id": bill["bill_id"]} if arguments is None else {**number, **arguments})
        for tool, arguments in calls
    ]
    assert [(call.tool, dict(call.arguments)) for call in made] == expected
    assert (bill["status"], own.line["status"]) == (
        ("overdue", "suspended") if fault == "overdue bill" else ("open", "active")
    )
    world = TelecomDomain().open(own.network.tables)
    look = DeskCall("look_at_status_bar", number, "user")
    assert "signal and data" not in carried_out(world, look).text
    for call in made:
        assert carried_out(world, call).ok
    assert "signal and data" in carried_out(world, look).text


def test_from_level_2_on_one_fault_is_on_the_line() -> None:
    """As many faults as the level, each another; at level 1 fewer than half are on the line."""
    on_line: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for level, counts in on_line.items():
        for seed in range(120):
            faults = _faults(Random(seed), level)
            assert len({*faults}) == len(faults) == level
            assert {*faults} <= {*DEVICE_FAULTS, *LINE_FAULTS}
            counts.append(sum(fault in LINE_FAULTS for fault in faults))
    assert 0.25 < sum(on_line[1]) / 120 < 0.55
    assert {*on_line[2], *on_line[3]} == {1}


def test_a_date_that_line_and_bill_share_is_not_asked_for() -> None:
    """Network: either call would tell it; else the plan, both dates and an amount are asked for."""
    asked: dict[bool, set[str]] = {True: set(), False: set()}
    for is_shared, names in asked.items():
        for seed in range(30):
            own = repairs(seed)
            bills = own.network.rows("bills", phone_number=own.number)
            if is_shared:
                own.line["contract_ends"] = bills[seed % 2]["due_on"]
            for request in _questions(Random(seed), own.network, own.customer, 2):
                (fact,) = request.facts
                names.add(fact.name)
                (call,) = request.gold
                assert call.tool == ("get_line" if fact.name in ("plan", "contract end") else "list_bills")
                if fact.name == "due date":
                    assert fact.value in [bill["due_on"] for bill in bills if bill["status"] == "open"]
    assert asked == {True: {"plan", "paid bill"}, False: {"plan", "paid bill", "contract end", "due date"}}


def connections(domain: DeskDomain, count: int) -> Iterator[tuple[DeskTask, Wish, Aim, dict[str, Any]]]:
    """Yield the wishes for a connection, with the phone."""
    for task, wish, aim in wishes(domain, 2, count):
        if wish.test is not None:
            number = wish.test.arguments["phone_number"]
            yield task, wish, aim, next(row for row in task.state["phones"] if row["phone_number"] == number)


def test_what_cannot_be_mended_is_most_often_asked_for_by_typed_acts() -> None:
    """Six of ten, and three of ten at the older desk."""
    for domain, least, most in ((DOMAINS[2], 0.45, 0.75), (OLDER_NETWORK, 0.12, 0.45)):
        refused = [bool(aim.grounds) for _, _, aim, _ in connections(domain, 40)]
        assert least < sum(refused) / len(refused) < most


def test_calls_of_who_reads_no_policy_at_the_network() -> None:
    """They leave out the payment and reset all settings; what is for nothing is given, and other faults are mended."""
    seen = set()
    for task, wish, aim, phone in connections(OLDER_NETWORK, 40):
        reset = DeskCall("reset_all_settings", {"phone_number": phone["phone_number"]}, "user")
        assert task.naive
        assert ("will not pay" in next(slot.says for slot in wish.slots if slot.name == "data")) == (
            aim.grounds == ("not for nothing",)
        )
        assert wish.passes == "signal and data"
        if not aim.grounds:
            unpaid = [call for call in aim.gold if call.tool not in ("request_payment", "pay_bill")]
            assert task.naive == (*unpaid, reset)
            for fact in aim.facts:
                assert aim.gold[fact.source].tool == "request_payment"
        elif aim.grounds == ("not for nothing",):
            (call,) = task.naive
            assert (call.arguments["gigabytes"], call.arguments["price"]) == (2.0, 0.0)
        elif aim.grounds == ("contract ended",):
            assert [call.tool for call in task.naive] == ["resume_line"]
            assert not aim.facts
        else:
            assert task.naive == (reset,) or all(call.by == "user" and call != reset for call in task.naive)
        assert phone["sim_card"] in ("well", "loose", "locked")
        if aim.grounds:
            assert phone["sim_card"] == ("locked" if aim.grounds == ("SIM card locked",) else "well")
        seen |= {*aim.grounds}
    assert len(seen) == 4


@DOMAIN
def test_cases_are_about_what_is_refused_and_nothing_else(domain: ActDomain) -> None:
    """A wish that the policy grants files none, but for a parcel that is lost."""
    for _, _, aim in wishes(domain, 2, 40):
        categories = [call.arguments["category"] for call in aim.gold if call.tool == CASE]
        assert (len(categories) == 1) == (bool(aim.grounds) or categories == ["lost parcel"])
        if aim.grounds:
            assert len(aim.gold) == 1
