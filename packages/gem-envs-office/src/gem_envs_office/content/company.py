"""The company of an episode before anything happens: people, places, customers, services, stock; :func:`founded`."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from gem_envs_office.content.filler import fill
from gem_envs_office.content.names import CITIES, firm_name, people_names
from gem_envs_office.content.tables import Tables
from gem_envs_office.policies import Rulebook

__all__ = ["COMMON", "add_meeting", "founded", "policy_numbers", "working_days"]

_TEAMS = (
    ("Management", ("director", "chief_of_staff", "chief_of_staff")),
    ("People", ("people_lead", "people_coordinator", "people_coordinator")),
    ("Support", ("support_lead", "support_agent", "support_agent", "support_agent")),
    ("Finance", ("finance_lead", "accountant", "accountant")),
    ("Engineering", ("engineering_lead", "engineer", "engineer", "engineer")),
    ("IT", ("it_admin", "it_admin", "it_admin")),
    ("Operations", ("operations_lead", "planner", "planner", "planner")),
    ("Sales", ("salesperson", "salesperson", "salesperson", "salesperson")),
    ("Design", ("staff", "staff", "staff")),
)
_TITLES = (
    ("manager", "standard"), ("specialist", "standard"), ("software engineer", "developer"), ("tester", "developer"),
    ("designer", "design"), ("analyst", "standard"), ("illustrator", "design"), ("data engineer", "developer"),
)  # fmt: skip
_SYSTEMS = (
    "Mailbox",
    "Ledger",
    "Payroll",
    "Tracker",
    "Repository",
    "Warehouse",
    "Sketchbook",
    "Customer base",
    "Monitor",
)
_SERVICES = (
    "login", "catalogue", "checkout", "search", "invoices", "tracking", "accounts", "payments", "storage", "messages",
    "reports", "images", "sessions", "prices", "exports", "cache", "queue", "identity", "audit", "maps",
)  # fmt: skip
COMMON = 14
"""The services from this place on are those that others need."""
_ITEMS = ("valve", "gauge", "lens", "pump", "sensor", "cable", "bracket", "motor", "filter", "relay", "switch", "panel")
_TRAININGS = ("Safety at work", "Data protection", "Writing to customers", "Bookkeeping", "Secure code", "Forklift")
_QUEUES = ("Refunds", "Onboarding", "Planning", "General", "Outages")
_PRODUCTS = (
    "service kit",
    "valve set",
    "calibration set",
    "starter kit",
    "spare parts",
    "training kit",
    "panel kit",
    "display unit",
)


def policy_numbers(rng: Random) -> dict[str, int]:
    """Return the numbers that stand in the policies of a company."""
    return {
        "refund_days": rng.choice((14, 21, 30, 45, 60)),
        "refund_fee": rng.choice((5, 10, 15, 20, 25)),
        "refund_free": rng.choice((50, 80, 100, 150)),
        "refund_high": rng.choice((400, 500, 750, 1000)),
        "training_days": rng.choice((10, 14, 21, 28)),
        "welcome_minutes": rng.choice((30, 45, 60)),
        "cause_minutes": rng.choice((30, 45, 60)),
        "severe_alerts": rng.choice((3, 4)),
        "review_minutes": rng.choice((30, 45, 60)),
        "review_days": rng.choice((3, 4, 5)),
        "hotel_limit": rng.choice((110, 130, 150, 180)),
        "meal_limit": rng.choice((25, 30, 40)),
        "expense_free": rng.choice((150, 200, 250)),
        "bill_free": rng.choice((600, 900, 1200)),
        "delay_days": rng.choice((2, 3, 4)),
    }


def working_days(start: date, count: int) -> list[str]:
    """Return the next working days from a date on, which is among them if it is one."""
    days: list[str] = []
    while len(days) < count:
        if start.weekday() < 5:
            days.append(start.isoformat())
        start += timedelta(days=1)
    return days


def founded(rng: Random, split: str, today: date, rulebook: Rulebook) -> Tables:
    """Return the tables of a company."""
    tables = Tables()
    for city, country in rng.sample(CITIES, 3):
        tables.add("locations", city=city, country=country)
    for title, laptop in _TITLES:
        tables.add("job_titles", title=title, laptop_class=laptop)
    _add_people(rng, split, tables, today)
    _add_rooms(rng, tables)
    _add_systems(rng, tables)
    _add_customers(rng, split, tables)
    _add_services(rng, tables)
    _add_stock(rng, split, tables)
    for title in _TRAININGS:
        audience = "all" if title in _TRAININGS[:2] else rng.choice(_TEAMS[1:])[0]
        tables.add("trainings", title=title, audience=audience, days=rng.randint(1, 3))
    for name in _QUEUES:
        tables.add("queues", name=name, team_id=rng.choice(tables["teams"])["team_id"])
    tables["policies"] = rulebook.documents()
    _add_periods(tables, today)
    fill(rng, tables, today)
    _add_meetings(rng, tables, today)
    return tables


def _add_people(rng: Random, split: str, tables: Tables, today: date) -> None:
    places = [row["location_id"] for row in tables["locations"]]
    domain = f"{firm_name(rng, split).lower().replace(' ', '-')}.example"
    names = iter(people_names(rng, split, sum(len(roles) for _, roles in _TEAMS)))
    for team, roles in _TEAMS:
        place = rng.choice(places)
        team_id = tables.add("teams", name=team, lead_id=None, location_id=place)
        members: list[str] = []
        for role in roles:
            name = next(names)
            members.append(
                tables.add(
                    "employees",
                    name=name,
                    email=f"{name.lower().replace(' ', '.')}@{domain}",
                    role=role,
                    title_id=rng.choice(tables["job_titles"])["title_id"],
                    team_id=team_id,
                    location_id=rng.choice((place, place, rng.choice(places))),
                    manager_id=members[0] if members else None,
                    starts_on=(today - timedelta(days=rng.randint(60, 3000))).isoformat(),
                    status="active",
                )
            )
        tables.row("teams", team_id)["lead_id"] = members[0]
        for place_in_team, member in enumerate(members):
            tables.row("employees", member)["deputy_id"] = members[(place_in_team + 1) % len(members)]


def _add_rooms(rng: Random, tables: Tables) -> None:
    for location in tables["locations"]:
        for number in range(3):
            seats = rng.choice((4, 6, 8, 12))
            tables.add("rooms", location_id=location["location_id"], name=f"Room {number + 1}", seats=seats)
        for number in range(8):
            status = rng.choice(("taken", "taken", "blocked", "free"))
            tables.add("desks", location_id=location["location_id"], floor=1 + number // 3, status=status)
        for kind in ("laptop", "laptop", "laptop", "laptop", "monitor", "phone"):
            tables.add(
                "assets",
                kind=kind,
                **{"class": rng.choice(("standard", "developer", "design"))},
                location_id=location["location_id"],
                status=rng.choice(("assigned", "repair", "in_stock")),
            )
    for row in (*tables.where("desks", status="taken"), *tables.where("assets", status="assigned")):
        row["employee_id"] = rng.choice(tables["employees"])["employee_id"]


def _add_systems(rng: Random, tables: Tables) -> None:
    for name in _SYSTEMS:
        sensitivity = "restricted" if rng.random() < 0.3 else "normal"
        owners = [row for row in tables["employees"] if row["manager_id"] is None and row["role"] != "director"]
        tables.add("systems", name=name, sensitivity=sensitivity, owner_id=rng.choice(owners)["employee_id"])
    for team in tables["teams"]:
        for system in rng.sample(tables["systems"], rng.randint(2, 3)):
            tables.add("access_profiles", team_id=team["team_id"], system_id=system["system_id"])


def _add_customers(rng: Random, split: str, tables: Tables) -> None:
    managers = [row["employee_id"] for row in tables["employees"] if row["role"] == "salesperson"]
    firms: dict[str, None] = {}
    while len(firms) < 14:
        firms[firm_name(rng, split)] = None
    contacts = iter(people_names(rng, split, 28))
    for firm in firms:
        customer = tables.add(
            "customers",
            name=firm,
            segment=rng.choice(("small", "medium", "large")),
            sla=rng.choice(("gold", "silver", "none")),
            manager_id=rng.choice(managers),
        )
        for _ in range(rng.randint(1, 2)):
            name = next(contacts)
            address = f"{name.lower().replace(' ', '.')}@{firm.lower().replace(' ', '-')}.example"
            tables.add("contacts", customer_id=customer, name=name, email=address)
    for product in _PRODUCTS:
        tables.add("price_list", product=product, price=float(rng.randint(20, 900)))


def _add_services(rng: Random, tables: Tables) -> None:
    owners = [row["employee_id"] for row in tables["employees"] if row["role"] in ("engineer", "engineering_lead")]
    for name in rng.sample(_SERVICES, len(_SERVICES)):
        tables.add(
            "services",
            name=name,
            tier=rng.choice("1223"),
            owner_id=rng.choice(owners),
            customer_facing=rng.choice(("yes", "no")),
        )
    for service in tables["services"][:COMMON]:
        for needed in rng.sample(tables["services"][COMMON:], 2):
            tables.add("service_dependencies", service_id=service["service_id"], needs_id=needed["service_id"])
    for customer in tables["customers"]:
        for service in rng.sample(tables["services"], 2):
            tables.add("service_subscriptions", customer_id=customer["customer_id"], service_id=service["service_id"])


def _add_periods(tables: Tables, today: date) -> None:
    end = today.replace(day=1)
    spans: list[tuple[date, date]] = []
    for _ in range(3):
        last = end - timedelta(days=1)
        end = last.replace(day=1)
        spans.append((end, last))
    for place, (first, last) in enumerate(reversed(spans)):
        status = "open" if place == 2 else "closed"
        tables.add("periods", starts_on=first.isoformat(), ends_on=last.isoformat(), status=status)


def _add_meetings(rng: Random, tables: Tables, today: date) -> None:
    """Add meetings of the next ten working days, no two in one room or of one person at a time."""
    taken: set[tuple[str, str]] = set()
    people = [row["employee_id"] for row in tables["employees"]]
    for day in working_days(today, 10):
        for hour in rng.sample(range(9, 17), 3):
            start = f"{day}T{hour:02}:00"
            room = rng.choice(tables["rooms"])
            group = rng.sample(people, rng.randint(2, 3))
            if any((one, start) in taken for one in (room["room_id"], *group)):
                continue
            taken |= {(one, start) for one in (room["room_id"], *group)}
            title = rng.choice(("Weekly", "Planning", "Interview", "Budget", "Demo", "Retrospective"))
            add_meeting(tables, title, group, room["room_id"], start, rng.choice((30, 60)))


def add_meeting(tables: Tables, title: str, people: list[str], room_id: str, starts_at: str, minutes: int) -> str:
    """Add a meeting, organized by the first of these people, and return its key."""
    event = tables.add(
        "events", title=title, organizer_id=people[0], room_id=room_id, starts_at=starts_at, minutes=minutes
    )
    for person in people:
        tables.add("event_attendees", event_id=event, employee_id=person)
    return event


def _add_stock(rng: Random, split: str, tables: Tables) -> None:
    for location in tables["locations"]:
        tables.add("warehouses", location_id=location["location_id"], name=f"Warehouse {location['city']}")
    for name in rng.sample(_ITEMS, len(_ITEMS)):
        item = tables.add("items", name=name, unit_price=float(rng.randint(5, 120)))
        for warehouse in tables["warehouses"]:
            quantity = rng.randint(0, 40)
            tables.add("stock_levels", item_id=item, warehouse_id=warehouse["warehouse_id"], quantity=quantity)
    for _ in range(5):
        name = firm_name(rng, split)
        address = f"orders@{name.lower().replace(' ', '-')}.example"
        tables.add("suppliers", name=name, email=address, rating=rng.choice("ABC"))
