"""Goals over the end state: what meets them, and what is a side effect."""

from __future__ import annotations

from typing import Any

import pytest

from gem_envs_office.declarations import company
from gem_envs_office.goals import EndState, OneOf, RowGoal, TimeSlot, end_state

_DESKS = {key: {"desk_id": key, "floor": 1, "status": "free", "employee_id": None} for key in ("D1", "D2", "D3")}


def _end(goals: list[RowGoal], **after: dict[str, dict[str, Any]]) -> EndState:
    before: dict[str, Any] = {name: {} for name in company().tables} | {"desks": _DESKS}
    return end_state(before, before | after, goals, "firm.example")


def _desks(**changed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {key: {**row, **changed.get(key, {})} for key, row in _DESKS.items()}


_TAKEN = {"status": "taken", "employee_id": "E1"}
_WANTED = RowGoal("desks", _TAKEN, ("D1", "D2"))


def test_one_of_the_rows_meets_a_goal() -> None:
    """Either row will do, and its change is no side effect; a third row is not among them."""
    for key in ("D1", "D2"):
        assert _end([_WANTED], desks=_desks(**{key: _TAKEN})) == ([], [])
    unmet, side_effects = _end([_WANTED], desks=_desks(D3=_TAKEN))
    assert unmet == [_WANTED]
    assert [change.key for change in side_effects] == ["D3"]


def test_two_rows_are_one_too_many() -> None:
    """Exactly one of the rows must be so."""
    assert _end([_WANTED], desks=_desks(D1=_TAKEN, D2=_TAKEN)).unmet == [_WANTED]


def test_another_column_of_the_row_is_a_side_effect() -> None:
    """A goal covers the columns that it names, no others."""
    found = _end([_WANTED], desks=_desks(D1={**_TAKEN, "floor": 9}))
    assert found.unmet == []
    assert [str(change) for change in found.side_effects] == [
        "desks D1: employee_id None → 'E1', floor 1 → 9, status 'free' → 'taken'"
    ]


def test_each_new_row_meets_one_goal() -> None:
    """Two equal goals want two rows, and a third row is a side effect."""
    goals = [RowGoal("badges", {"employee_id": "E1"})] * 2
    rows = {key: {"badge_id": key, "employee_id": "E1"} for key in ("B1", "B2", "B3")}
    assert len(_end(goals, badges={"B1": rows["B1"]}).unmet) == 1
    assert _end(goals, badges={key: rows[key] for key in ("B1", "B2")}) == ([], [])
    assert [change.key for change in _end(goals, badges=rows).side_effects] == ["B3"]


def test_a_name_stands_for_what_a_goal_has_bound() -> None:
    """Later goals find the row by its key; a name that nothing has bound meets nothing, not even itself or NULL."""
    goals = [RowGoal("employees", {"name": "Ada"}, binds="$new"), RowGoal("badges", {"employee_id": "$new"})]
    person = {"E9": {"employee_id": "E9", "name": "Ada"}}
    badge = {"badge_id": "B1", "employee_id": "E9"}
    assert _end(goals, employees=person, badges={"B1": badge}) == ([], [])
    for other in ("E8", "$new", None):
        assert goals[1] in _end(goals, badges={"B1": {**badge, "employee_id": other}}).unmet


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("2027-03-01T09:00", True),
        ("2027-03-01T16:30", True),
        ("2027-03-01T16:31", False),
        ("2027-03-01T08:59", False),
        ("2027-03-02T12:00", False),
    ],
)
def test_a_slot_has_days_and_hours(value: str, fits: bool) -> None:
    """A time fits a slot from its earliest to its latest minute, on its days."""
    goal = RowGoal("events", {"starts_at": TimeSlot(("2027-03-01",), "09:00", "16:30")})
    assert (not _end([goal], events={"EV1": {"event_id": "EV1", "starts_at": value}}).unmet) == fits


def test_amounts_agree_to_the_cent() -> None:
    """A cent more or less is another amount; one of several values will do."""
    goal = RowGoal("refunds", {"amount": OneOf((10.0, 20))})
    for amount, unmet in ((10, 0), (20.0, 0), (10.01, 1), (9.99, 1), (None, 1)):
        assert len(_end([goal], refunds={"RF1": {"refund_id": "RF1", "amount": amount}}).unmet) == unmet


def test_removed_row_is_wanted_or_a_side_effect() -> None:
    """A row that is gone meets a goal that wants it, and is a side effect otherwise."""
    rest = {"D2": _DESKS["D2"], "D3": _DESKS["D3"]}
    assert _end([RowGoal("desks", keys=("D1",), removed=True)], desks=rest) == ([], [])
    assert [str(change) for change in _end([], desks=rest).side_effects] == ["desks D1 is gone"]


def test_mail_is_free_within_the_company_alone() -> None:
    """New mails to colleagues are nobody's harm; to others, or to an address that only resembles, they are."""
    for address, count in (("a@firm.example", 0), ("a@customer.example", 1), ("a@xfirm.example", 1)):
        mails = {"M1": {"message_id": "M1", "recipient": address}}
        assert len(_end([], mail_messages=mails).side_effects) == count
