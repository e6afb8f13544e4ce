"""What tasks of shop, airline and network demand, reckoned anew from their rows by the sentences of the policies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

import pytest

import gem
from gem_envs_desk.acts.env import ActDomain
from gem_envs_desk.acts.judge import ConversationJudge
from gem_envs_desk.acts.language import PROPOSE, TELL, SpeechAct
from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.airline.content import CABINS, Airline
from gem_envs_desk.airline.env import AirlineActsDomain
from gem_envs_desk.airline.tasks import PassengerRequests
from gem_envs_desk.domain import DeskDomain, carried_out
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.reference import call_text
from gem_envs_desk.request_maker import RequestMaker
from gem_envs_desk.requests import DeskRequest
from gem_envs_desk.retail.content import Shop
from gem_envs_desk.retail.env import RetailActsDomain
from gem_envs_desk.retail.tasks import _WORDS, ShopperRequests
from gem_envs_desk.task import CASE, DeskCall, DeskTask
from gem_envs_desk.telecom.env import TelecomActsDomain

TODAY = date(2026, 5, 15)
DOMAINS: list[ActDomain] = [RetailActsDomain(), AirlineActsDomain(), TelecomActsDomain(), LibraryActsDomain()]
DRAWS = 40

Drawn = tuple[DeskRequest, Any, dict[str, Any]]


def drawn(maker: type[RequestMaker[Any]], kind: str) -> Iterator[Drawn]:
    """Yield requests of a kind, with the tables and the customer."""
    for seed in range(DRAWS):
        rng = Random(seed)
        content = (Shop if maker is ShopperRequests else Airline)(rng, "train")
        customer = rng.choice(content.tables["customers"])
        yield maker.kinds[kind](maker(rng, content, customer, 2)), content, customer


def tasks(domain: DeskDomain, level: int, count: int) -> list[DeskTask]:
    """Return the first tasks of a level."""
    return [domain.task(number, level, "train") for number in range(count)]


def naive_or_gold(request: DeskRequest) -> dict[str, Any]:
    """Return the arguments of what the customer asks for, whether it is allowed or not."""
    (call,) = request.gold if request.naive is None or not request.grounds else request.naive
    return dict(call.arguments)


def test_a_return_is_paid_by_tier_day_and_kind_of_product() -> None:
    """Shop, sentences 6 and 7: 30 days or 60, no final sale, 10 % less for electronics of standard customers."""
    seen = set()
    for request, shop, customer in drawn(ShopperRequests, "refund"):
        asked = naive_or_gold(request)
        order = shop.row("orders", order_id=asked["order_id"])
        item = shop.row("items", item_id=asked["item_id"])
        paid = shop.row("order_lines", order_id=order["order_id"], item_id=item["item_id"])["price"]
        days = (TODAY - date.fromisoformat(order["delivered_on"])).days
        is_late = days > (60 if customer["tier"] == "plus" else 30)
        grounds = {*(["too late"] if is_late else []), *(["final sale"] if item["final_sale"] else [])}
        assert set(request.grounds) == grounds
        assert (order["customer_id"], order["status"]) == (customer["customer_id"], "delivered")
        target = shop.row("payment_methods", payment_id=asked["payment_id"])
        assert target["customer_id"] == customer["customer_id"]
        assert asked["payment_id"] == order["payment_id"] or target["kind"] == "gift_card"
        paid_with = shop.row("payment_methods", payment_id=order["payment_id"])
        choices = next(slot.choices for slot in request.wish.slots if slot.name == "target")
        assert bool(choices) == (paid_with["kind"] != "gift_card")
        prices = [one["price"] for one in shop.tables["items"]]
        assert len(set(prices)) == len(prices)
        assert all(price >= 6 and price == round(price, 1) for price in prices)
        if not grounds:
            is_reduced = item["category"] == "electronics" and customer["tier"] == "standard"
            assert asked["amount"] == round(paid * (0.9 if is_reduced else 1), 2)
            assert [fact.value for fact in request.facts] == [asked["amount"]]
            assert request.kind == ("refund with fee" if is_reduced else "refund")
            seen.add("reduced" if is_reduced else f"{customer['tier']} in time")
        seen |= grounds
    assert {"too late", "final sale", "reduced", "plus in time"} <= seen


@pytest.mark.parametrize(("kind", "is_allowed"), [("cancel", True), ("cancel refused", False)])
def test_an_order_is_cancelled_for_two_reasons_alone(kind: str, is_allowed: bool) -> None:
    """Shop, sentence 3."""
    reasons = {"I do not need it any more.": "no longer needed", "I ordered it by mistake.": "ordered by mistake"}
    for request, shop, customer in drawn(ShopperRequests, kind):
        arguments = naive_or_gold(request)
        says = next(slot.says for slot in request.wish.slots if slot.name == "reason")
        assert (says in reasons) == is_allowed == (request.grounds == ())
        denied = next(slot.choices for slot in request.wish.slots if slot.name == "reason")
        assert len(denied) == len(_WORDS["no_reasons"]) - 1  # all but their own
        assert arguments["reason"] == reasons.get(says, "other")
        order = shop.row("orders", order_id=arguments["order_id"])
        assert (order["customer_id"], order["status"]) == (customer["customer_id"], "pending")


def test_an_item_is_swapped_once_for_another_in_stock() -> None:
    """Shop, sentence 5: of the same product, in a pending order; not if it has been swapped."""
    seen = set()
    for request, shop, customer in drawn(ShopperRequests, "swap"):
        asked = naive_or_gold(request)
        line = shop.row("order_lines", order_id=asked["order_id"], item_id=asked["old_item_id"])
        old, new = (shop.row("items", item_id=asked[name]) for name in ("old_item_id", "new_item_id"))
        assert (request.grounds == ("swapped before",)) == (line["status"] == "swapped")
        assert old["product"] == new["product"]
        assert old is not new
        assert new["stock"] > 0
        order = shop.row("orders", order_id=asked["order_id"])
        assert (order["customer_id"], order["status"]) == (customer["customer_id"], "pending")
        seen.add((bool(request.grounds), bool(request.wish.change)))
    assert seen == {(True, False), (False, True), (False, False)}


def test_only_what_was_placed_more_than_14_days_ago_is_lost() -> None:
    """Shop, sentence 8: a case of that category about an order that is still on its way."""
    for request, shop, customer in drawn(ShopperRequests, "lost"):
        (call,) = request.gold
        order = shop.row("orders", order_id=call.arguments["subject"])
        assert (call.tool, call.arguments["category"]) == (CASE, "lost parcel")
        assert (order["customer_id"], order["status"]) == (customer["customer_id"], "shipped")
        assert (TODAY - date.fromisoformat(order["placed_on"])).days > 14


def test_the_first_reason_that_holds_decides_a_refund() -> None:
    """Airline, sentence 3: flight cancelled or booked since yesterday, business, insured less 40; else none."""
    seen = set()
    for request, airline, _ in drawn(PassengerRequests, "cancel"):
        booking = airline.row("bookings", booking_code=booked(request))
        flight = airline.row("flights", flight_id=booking["flight_id"])
        days = (TODAY - date.fromisoformat(booking["booked_on"])).days
        is_whole = flight["status"] == "cancelled" or days <= 1 or booking["cabin"] == "business"
        assert request.grounds == (() if is_whole or booking["insured"] else ("not refundable",))
        if not request.grounds:
            refund = booking["fare_paid"] - (0 if is_whole else 40)
            assert request.gold[0].arguments["refund"] == refund == request.facts[0].value
        seen |= {is_whole, *request.grounds, f"after {days} days"}
    assert {True, False, "not refundable", "after 1 days"} <= seen


def booked(request: DeskRequest) -> str:
    """Return the code of the booking that a request is about."""
    arguments = request.gold[0].arguments
    return str(arguments.get("booking_code") or arguments["subject"])


def test_a_new_flight_costs_the_difference_and_30_but_for_gold() -> None:
    """Airline, sentence 4: the same route, a free seat, the earliest or cheapest of the day; never in basic."""
    seen = set()
    for request, airline, customer in drawn(PassengerRequests, "rebook"):
        booking = airline.row("bookings", booking_code=booked(request))
        cabin, old = booking["cabin"], airline.row("flights", flight_id=booking["flight_id"])
        assert request.grounds == (("basic cabin",) if cabin == "basic" else ())
        seen.add((cabin, customer["tier"], bool(request.wish.change)))
        if request.grounds:
            continue
        arguments = request.gold[0].arguments
        new = airline.row("flights", flight_id=arguments["flight_id"])
        fee = 0 if customer["tier"] == "gold" else 30
        assert arguments["charge"] == max(new[f"{cabin}_fare"] - booking["fare_paid"], 0) + fee
        assert request.facts[0].value == new["departs"]
        slot = next(slot for slot in request.wish.slots if slot.name == "day")
        wanted = slot.after_change if request.wish.change else slot.says
        same_day = airline.rows("flights", origin=old["origin"], destination=old["destination"], date=new["date"])
        free = [flight for flight in same_day if flight[f"{cabin}_seats"] > 0]
        by = "departs" if "earliest" in wanted else f"{cabin}_fare"
        assert new is min(free, key=lambda flight: flight[by])
        assert new["date"] in wanted
    assert {cabin for cabin, _, _ in seen} == set(CABINS)
    assert {tier for _, tier, _ in seen} == {"gold", "standard"}


def test_an_upgrade_costs_the_difference_to_business() -> None:
    """Airline, sentence 5: of the same flight, which has a seat; never from basic."""
    for request, airline, _ in drawn(PassengerRequests, "upgrade"):
        booking = airline.row("bookings", booking_code=booked(request))
        flight = airline.row("flights", flight_id=booking["flight_id"])
        assert request.grounds == (("basic cabin",) if booking["cabin"] == "basic" else ())
        assert flight["business_seats"] > 0
        assert naive_or_gold(request)["charge"] == flight["business_fare"] - booking["fare_paid"]


def test_bags_beyond_the_free_and_the_paid_ones_cost_35() -> None:
    """Airline, sentence 6: none free in basic, one in economy, two in business, one more for gold; four at most."""
    seen = set()
    for request, airline, customer in drawn(PassengerRequests, "bags"):
        booking = airline.row("bookings", booking_code=booked(request))
        free = {"basic": 0, "economy": 1, "business": 2}[booking["cabin"]] + (customer["tier"] == "gold")
        says = next(slot.says for slot in request.wish.slots if slot.name == "bags")
        wanted = int(says.split()[4])
        assert request.grounds == (("too many bags",) if wanted > 4 else ())
        if not request.grounds:
            charge = 35 * max(wanted - max(free, booking["bags"]), 0)
            assert request.gold[0].arguments == {
                "booking_code": booking["booking_code"], "bags": wanted, "charge": charge,
            }  # fmt: skip
            # Who does not read the policy lets each further bag be paid for.
            asked = 35 * (wanted - booking["bags"])
            naive = None if request.naive is None else [(call.tool, call.arguments["charge"]) for call in request.naive]
            assert naive == (None if asked == charge else [("set_bags", asked)])
            seen |= {free, f"naive {asked == charge}"}
    assert {0, 1, 2, 3, "naive True", "naive False"} <= seen


def test_a_delay_of_180_minutes_is_worth_100_and_200_in_business() -> None:
    """Airline, sentence 7; 175 minutes are worth nothing."""
    seen = set()
    for request, airline, _ in drawn(PassengerRequests, "delay"):
        booking = airline.row("bookings", booking_code=booked(request))
        delay = airline.row("flights", flight_id=booking["flight_id"])["delay_minutes"]
        assert request.grounds == (("delay too short",) if delay < 180 else ())
        assert naive_or_gold(request)["amount"] == (200 if booking["cabin"] == "business" else 100)
        seen.add(delay)
    assert {175, 180} <= seen


def test_who_is_abroad_and_nobody_else_agrees_to_roaming() -> None:
    """Network, sentences 6 and 7: data for 10, or for nothing if that is the wish; the last bill is one bill."""
    seen: set[object] = set()
    for task in tasks(TelecomActsDomain(), 2, 50):
        for aim, wish in zip(task.aims, task.script.wishes if task.script else (), strict=True):
            if wish.test is not None:
                phone_number = wish.test.arguments["phone_number"]
                (phone,) = (one for one in task.state["phones"] if one["phone_number"] == phone_number)
                agreed = {call.tool: call.arguments for call in aim.agrees}
                assert ("enable_roaming" in agreed) == bool(phone["is_abroad"])
                price = 0.0 if "not for nothing" in aim.grounds else 10.0
                assert (agreed["add_data"]["gigabytes"], agreed["add_data"]["price"]) == (2.0, price)
                seen.add(bool(phone["is_abroad"]))
            elif [fact.name for fact in aim.facts] == ["paid bill"]:
                line = aim.gold[0].arguments["phone_number"]
                own = [bill for bill in task.state["bills"] if bill["phone_number"] == line]
                paid = max((bill for bill in own if bill["status"] == "paid"), key=lambda bill: bill["due_on"])
                assert aim.facts[0].value == paid["amount"]
                # Who is to pay another one in between would mean that one by the last.
                assert any(bill["status"] == "overdue" for bill in own) == (paid["due_on"] in wish.says)
                seen.add("dated" if paid["due_on"] in wish.says else "last")
    assert seen == {True, False, "dated", "last"}


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_amounts_are_whole_cents(domain: ActDomain) -> None:
    """In all rows, calls and facts, whatever sums and shares they come from."""
    for task in tasks(domain, 3, 8):
        rows = (value for rows in task.state.values() for row in rows for value in row.values())
        calls = (value for call in (*task.gold, *(task.naive or ())) for value in call.arguments.values())
        for value in (*rows, *calls, *(fact.value for fact in task.facts)):
            assert not isinstance(value, float) or value == round(value, 2), value


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_customers_of_level_1_neither_err_nor_insist_nor_change_their_mind(domain: ActDomain) -> None:
    """From level 2 on they do all of it, those of the network but the last."""
    seen: dict[int, set[str]] = {1: set(), 2: set()}
    for level, found in seen.items():
        for task in tasks(domain, level, 50):
            assert task.script is not None
            for wish in task.script.wishes:
                found |= {"changes"} if wish.change else set()
                found |= {"insists"} if wish.protests else set()
                found |= {"errs"} if any(slot.wrong for slot in wish.slots) else set()
    assert seen == {1: set(), 2: {"errs", "insists"} | (set() if domain.name == "telecom" else {"changes"})}


@pytest.mark.parametrize(
    ("domain", "tool", "amount", "stored"),
    [
        (DOMAINS[0], "refund_item", "amount", ("refunds", "amount")),
        (DOMAINS[1], "cancel_booking", "refund", ("refunds", "amount")),
        (DOMAINS[1], "set_bags", "charge", ("bookings", "charged")),
        (DOMAINS[1], "rebook", "charge", ("bookings", "charged")),
        (DOMAINS[1], "upgrade", "charge", ("bookings", "charged")),
        (DOMAINS[1], "pay_compensation", "amount", ("compensations", "amount")),
        (DOMAINS[3], "report_lost", "charge", ("fines", "amount")),
    ],
)
def test_tools_keep_amounts_in_whole_cents(domain: ActDomain, tool: str, amount: str, stored: tuple[str, str]) -> None:
    """Whatever a model writes: 1.2349 is 1.23."""
    table, column = stored
    for task in tasks(domain, 3, 60):
        call = next((call for call in task.gold if call.tool == tool), None)
        if call is not None:
            world = domain.open(task.state)
            assert carried_out(world, DeskCall(tool, {**call.arguments, amount: 1.2349})).ok
            assert any(row[column] == 1.23 for row in world.dump()[table].values())
            return
    raise AssertionError(f"no task calls {tool}")


def test_parts_of_dates_numbers_and_times_are_no_amounts() -> None:
    """A date shows a stranger's amount of 15 as little as a telephone number or a time does; the amount does."""
    domain = TelecomActsDomain()
    task = domain.task(0, 1, "train")
    bills = [{**task.state["bills"][0], "amount": 15.0}]
    owned = Ownership(domain.schema, {**task.state, "bills": bills})

    def amounts(text: str) -> list[Any]:
        return [value for _, value in owned.shown(text) if isinstance(value, float)]

    assert amounts("It ends on 2026-05-15 at 15:15, call 0170-15 for it.") == []
    assert amounts("It came to 15.00 euros.") == [15.0]


@pytest.mark.parametrize(
    ("call", "acts"),
    [
        (DeskCall("propose", {"action": "set_switch", "arguments": {"switch": "torch", "on": True}}), 12),
        (DeskCall("propose", {"action": "look_at_settings", "arguments": {}}), 15),
        (DeskCall("tell", {"fact": "bill", "value": "not much"}), 12),
        (DeskCall("tell", {"fact": "plan", "value": ""}), 12),
        (DeskCall("ask", {"what": "place"}), 15),
        (DeskCall("ask", {"what": "shoe size"}), 12),
    ],
)
def test_acts_that_bring_nothing_tire_the_customer(call: DeskCall, acts: int) -> None:
    """Twelve of them at level 1; the same question or deed brings something three times."""
    env = gem.make("desk:Telecom-v1")
    first = [task.script.wishes[0] for task in tasks(DOMAINS[2], 1, 20) if task.script is not None]
    env.reset(options={"task": next(number for number, wish in enumerate(first) if wish.test is not None)})
    over = [any(env.step(call_text(call))[2:4]) for _ in range(acts)]
    assert over == [*[False] * (acts - 1), True]


def test_an_amount_of_the_solution_tells_nothing_of_a_stranger_who_has_it_too() -> None:
    """The agent has read it in somebody else's booking, and must propose it all the same; another one it must not."""
    domain = DOMAINS[1]
    calls = [(task, call) for task in tasks(domain, 1, 60) for call in task.gold if call.tool == "set_bags"]
    task, call = next((task, call) for task, call in calls if call.arguments["charge"] > 35)
    strangers = [row for row in task.state["bookings"] if row["customer_id"] != task.customer]
    bookings = [{**strangers[0], "charged": call.arguments["charge"]}, {**strangers[1], "charged": 77.0}]
    owned = Ownership(domain.schema, {**task.state, "bookings": bookings})

    def breaks(charge: float) -> bool:
        judge = ConversationJudge(task, domain.acts, lambda: owned, policy=domain.policy, opening="")
        judge.read = [call.arguments["charge"], 77.0]
        judge.says(SpeechAct(PROPOSE, call.tool, {**call.arguments, "charge": charge}), 0)
        return "strangers" in judge.broken

    assert not breaks(call.arguments["charge"])
    assert breaks(77.0)


def test_the_judge_names_what_has_not_been_told() -> None:
    """Each fact and each refusal of each wish, until it is told."""
    domain = DOMAINS[0]
    task = next(task for task in tasks(domain, 2, 40) if task.facts and any(aim.grounds for aim in task.aims))
    owned = Ownership(domain.schema, task.state)
    judge = ConversationJudge(task, domain.acts, lambda: owned, policy=domain.policy, opening="")
    judge.is_identified = True
    for wish, aim in enumerate(task.aims):
        told = [*((fact.name, fact.value) for fact in aim.facts), *(("refused", ground) for ground in aim.grounds[:1])]
        for name, value in told:
            assert f"facts: {name} of wish {wish + 1} not told" in judge.reasons()
            judge.says(SpeechAct(TELL, name, value), wish)
            assert f"facts: {name} of wish {wish + 1} not told" not in judge.reasons()
    assert judge.reasons() == ["settled: the customer has not said goodbye"]


def test_the_judge_names_twenty_reasons() -> None:
    """However many there are, of one predicate or of several, so that ``info`` stays small."""
    domain = DOMAINS[0]
    task = domain.task(0, 3, "train")
    owned = Ownership(domain.schema, task.state)
    judge = ConversationJudge(task, domain.acts, lambda: owned, policy=domain.policy, opening="")
    for count in range(30):
        judge.says(SpeechAct(TELL, "refund", 1000.5 + count), 0)
    assert len(judge.broken["facts"]) == len(judge.reasons()) == 20
