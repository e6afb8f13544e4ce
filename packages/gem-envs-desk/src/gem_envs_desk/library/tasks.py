"""The requests of the library's readers, with their solutions by the policy."""

from __future__ import annotations

from itertools import permutations
from typing import ClassVar

from gem.tables import read_table
from gem_envs_desk.content import TODAY, later
from gem_envs_desk.library.content import BRANCHES, MOST_HOLDS, Library
from gem_envs_desk.request_maker import Kinds, RequestMaker
from gem_envs_desk.requests import CANNOT_HELP, DeskRequest, Words, called, desk_phrases
from gem_envs_desk.store import Row
from gem_envs_desk.task import DeskCall, Slot, ToldFact, Wish

__all__ = ["GROUNDS", "PHRASES", "ReaderRequests"]

RENEWED_TWICE, RESERVED, TOO_LATE = "renewed twice", "reserved", "too late"
COPY_IS_IN, TOO_MANY_HOLDS, NOT_FOR_CHILDREN = "copy is in", "too many holds", "not for children"
READY, WAS_OPEN = "ready for pick-up", "library was open"
GROUNDS = (
    CANNOT_HELP, RENEWED_TWICE, RESERVED, TOO_LATE, COPY_IS_IN, TOO_MANY_HOLDS, NOT_FOR_CHILDREN, READY, WAS_OPEN,
)  # fmt: skip
"""Why the policy refuses a wish."""
PHRASES = desk_phrases(read_table(__file__, "phrases.json"))
"""How readers raise their wishes."""
_RENEWAL, _GRACE = 21, 7
"""Days that a renewal adds, and days after the due date on which it is possible."""
_MOST_RENEWALS, _WORK = 2, 5.0


class ReaderRequests(RequestMaker[Library]):
    """Makes requests of one reader, each about a title of its own."""

    table, slot, asks = "loans", "loan", ("loan number",)
    names, why = "The loan number is {}.", ("why",)
    makes_last = "hold"  # a reader's other holds count

    def about(self) -> tuple[Slot, ...]:
        return (Slot("card", ("card",), f"My card number is {self.customer['card']}."),)

    def renew(self) -> DeskRequest:
        """Renew a loan; it may be overdue, renewed often or wanted by others."""
        rng, library = self.rng, self.content
        days_ago = rng.choice((-14, -3, 0, 2, _GRACE, _GRACE + 1, 20))
        renewals = rng.choice((0, 0, 1, 1, _MOST_RENEWALS, _MOST_RENEWALS + 1))
        title = library.take_title()
        loan = library.add_loan(self.customer, title, days_ago, renewals)
        is_wanted = rng.random() < 0.25
        if is_wanted:
            library.add_hold(rng.choice(self.others()), title)
        due_on = later(loan["due_on"], _RENEWAL)
        reasons = {
            RENEWED_TWICE: renewals >= _MOST_RENEWALS,
            RESERVED: is_wanted,
            TOO_LATE: days_ago > _GRACE,
        }
        gold = (called("renew", loan_id=loan["loan_id"], due_on=due_on),)
        naive = (called("renew", loan_id=loan["loan_id"], due_on=later(TODAY.isoformat(), _RENEWAL)),)
        facts = (ToldFact(due_on, 0, "It is due on", "due date"),)
        slots = (self.record_slot(loan["loan_id"]), self.reason("I have not finished it."))
        wish, words = Wish("", slots=slots, wants=("deed", "answer")), _words("renew", title)
        return self.decided(
            "renew", wish, reasons, gold, naive=naive, facts=facts, subject=loan["loan_id"], words=words
        )

    def hold(self) -> DeskRequest:
        """Wait for a title; a copy may be in, it may be a film, and there may be holds enough."""
        rng, library = self.rng, self.content
        obstacle = rng.choice(("", "", "", COPY_IS_IN, TOO_MANY_HOLDS, NOT_FOR_CHILDREN))
        title = library.take_title("film" if obstacle == NOT_FOR_CHILDREN else "book", int(obstacle == COPY_IS_IN) * 2)
        if obstacle == TOO_MANY_HOLDS:
            while len(self._holds()) < MOST_HOLDS:
                library.add_hold(self.customer, library.take_title(), rng.choice(("waiting", "ready")))
        branch = rng.choice(BRANCHES)
        gold = (called("place_hold", customer_id=self.customer_id, title_id=title["title_id"], branch=branch),)
        reasons = {
            COPY_IS_IN: bool(title["copies_in"]),
            TOO_MANY_HOLDS: len(self._holds()) >= MOST_HOLDS,
            NOT_FOR_CHILDREN: title["medium"] == "film" and self.customer["kind"] == "child",
        }
        slots = (
            Slot("title", ("which title",), f"The title is {title['name']}."),
            Slot("branch", ("which branch",), f"I want to pick it up at {branch}."),
            self.reason("I have heard about it."),
        )
        words = Words("hold", {"title": title["name"], "branch": branch})
        wish = Wish("", slots=slots, wants=("deed",))
        return self.decided("hold", wish, reasons, gold, naive=gold, subject=title["title_id"], words=words)

    def pick_up(self) -> DeskRequest:
        """Move a hold to another branch, unless it is ready; the reader may change their mind."""
        rng, library = self.rng, self.content
        title = library.take_title()
        is_ready = rng.random() < 0.35
        old = library.add_hold(self.customer, title, "ready" if is_ready else "waiting")["branch"]
        first, second = rng.sample([branch for branch in BRANCHES if branch != old], 2)
        changes = not is_ready and self.level > 1 and rng.random() < 0.5

        def moved(branch: str) -> tuple[DeskCall, ...]:
            return (called("move_hold", customer_id=self.customer_id, title_id=title["title_id"], branch=branch),)

        slots = (
            Slot("title", ("which title",), f"The title is {title['name']}."),
            Slot("branch", ("which branch",), f"I want to pick it up at {first}.",
                 after_change=f"I want to pick it up at {second}, as I said."),
            self.reason("It is nearer to my work."),
        )  # fmt: skip
        words = Words("pick_up", {"title": title["name"], "branch": first, "other": second})
        change = f"Sorry, I have changed my mind: {second} is better for me." if changes else ""
        gold = moved(second if changes else first)
        wish, subject = Wish("", change, slots=slots, wants=("deed",)), title["title_id"]
        return self.decided("pick-up", wish, {READY: is_ready}, gold, naive=moved(first), subject=subject, words=words)

    def fine(self) -> DeskRequest:
        """Pay all fines, at once, one by one or some of them first; or have one waived."""
        rng, library = self.rng, self.content
        if rng.random() < 0.5:
            return self._waiver()
        fines = [library.add_fine(self._returned(rng.randint(130, 200))) for _ in range(rng.randint(2, 3))]
        facts = (ToldFact(round(sum(fine["amount"] for fine in fines), 2), 0, "You pay", "fines"),)
        gold = (called("pay_all_fines", customer_id=self.customer_id),)
        singly = [called("pay_fine", loan_id=fine["loan_id"]) for fine in fines]
        some = [paid for count in range(1, len(singly) + 1) for paid in permutations(singly, count)]
        ways = tuple(paid if len(paid) == len(singly) else (*paid, *gold) for paid in some)
        wish = Wish("", slots=(self.reason("I do not want to owe anything."),), wants=("deed", "amount"))
        return DeskRequest("fines", wish, gold, facts, ways=ways, words=Words("fines"))

    def lost(self) -> DeskRequest:
        """Report a loan as lost, and learn what it costs."""
        title = self.content.take_title()
        loan = self.content.add_loan(self.customer, title, self.rng.randint(-10, 30), 0)
        low, high = title["price"], round(title["price"] + _WORK, 2)
        charge, other = (low, high) if self.customer["kind"] == "child" else (high, low)

        def reported(amount: float) -> tuple[DeskCall, ...]:
            return (called("report_lost", loan_id=loan["loan_id"], charge=amount),)

        slots = (self.record_slot(loan["loan_id"]), self.reason("I must have left it on the train."))
        wish, words = Wish("", slots=slots, wants=("deed", "amount")), _words("lost", title, "gone")
        facts = (ToldFact(charge, 0, "It costs", "charge"),)
        return DeskRequest("lost", wish, reported(charge), facts, reported(other), words=words)

    def due(self) -> DeskRequest:
        """Ask when a loan is due."""
        title = self.content.take_title()
        loan = self.content.add_loan(self.customer, title, -self.rng.randint(36, 42), 0)
        wish = Wish("", slots=(self.record_slot(loan["loan_id"]),), wants=("answer",))
        facts = (ToldFact(loan["due_on"], 0, "It is due on", "due date"),)
        gold, words = (called("get_loan", loan_id=loan["loan_id"]),), _words("due", title)
        return DeskRequest("due date", wish, gold, facts, words=words)

    def stranger(self) -> DeskRequest:
        """Ask for the loan of somebody else."""
        title = self.content.take_title()
        loan = self.content.add_loan(self.rng.choice(self.others()), title, -self.rng.randint(2, 14), 0)
        slots = (self.known_slot(loan["loan_id"]), self.reason("I have not finished it."))
        wish = Wish("", protest=self.protest(True), slots=slots, wants=("deed", "answer"))
        naive = called("renew", loan_id=loan["loan_id"], due_on=later(loan["due_on"], _RENEWAL))
        return self.of_somebody_else("loan of somebody else", wish, loan["loan_id"], naive, _words("renew", title))

    def _waiver(self) -> DeskRequest:
        """Ask for a fine to be waived; the library may have been closed on the day, or on the one before."""
        closed_on = self.rng.choice(self.content.tables["closings"])["closed_on"]
        was_closed = self.rng.random() < 0.5
        loan = self._returned(0)
        loan["due_on"] = closed_on if was_closed else self._open_day(closed_on)
        fine = self.content.add_fine(loan)
        gold = (called("waive_fine", loan_id=fine["loan_id"]),)
        slots = (self.record_slot(fine["loan_id"]), self.reason("I stood in front of a closed door."))
        wish, reasons = Wish("", slots=slots, wants=("deed",)), {WAS_OPEN: not was_closed}
        return self.decided("waiver", wish, reasons, gold, naive=gold, subject=fine["loan_id"], words=Words("waiver"))

    def _open_day(self, closed_on: str) -> str:
        """Return a day just after a closing on which the library was open."""
        closings = {row["closed_on"] for row in self.content.tables["closings"]}
        return next(date for days in range(1, 9) if (date := later(closed_on, days)) not in closings)

    def _holds(self) -> list[Row]:
        return self.content.rows("holds", customer_id=self.customer_id)

    def _returned(self, days_ago: int) -> Row:
        """Return a loan of the reader's that has come back late."""
        loan = self.content.add_loan(self.customer, self.content.take_title(), days_ago, 0)
        loan["status"] = "returned"
        return loan

    kinds: ClassVar[Kinds] = {
        "renew": renew,
        "another renewal": renew,
        "hold": hold,
        "pick-up": pick_up,
        "fine": fine,
        "lost": lost,
        "due": due,
        "stranger": stranger,
    }


def _words(row: str, title: Row, *reasons: str) -> Words:
    """Return how a wish about a loan is raised, whose title the reader knows."""
    slots = (Slot("title", (), f"The title is {title['name']}.", extra=True),)
    return Words(row, {"title": title["name"]}, slots, reasons)
