"""What the household answers to each command."""

from __future__ import annotations

from gem_envs_house.catalogue import CLEANABLE, COOLABLE, HEATABLE, LAMP, PORTABLE, SLICEABLE
from gem_envs_house.commands import Command, CommandForm
from gem_envs_house.house import CLEAN, HELD, HOT, Chore, House, Receptacle, Thing
from gem_envs_house.situation import Situation

TWO_PLACES = House(
    ("kitchen",),
    0,
    (
        Receptacle("fridge", "fridge 1", True, 0, 0),
        Receptacle("countertop", "countertop 1", False, 0, 1),
        Receptacle("microwave", "microwave 1", True, 0, 2),
        Receptacle("sinkbasin", "sinkbasin 1", False, 0, 3),
    ),
    (
        Thing("apple", "apple 1", frozenset({HEATABLE, COOLABLE, CLEANABLE, SLICEABLE, PORTABLE}), 0),
        Thing("knife", "knife 1", frozenset({"blade", PORTABLE}), 1),
        Thing("desklamp", "desklamp 1", frozenset({LAMP}), 1),
    ),
    frozenset({("apple", "fridge"), ("apple", "countertop"), ("knife", "countertop")}),
)

RECEPTACLES = "a fridge 1, a countertop 1, a microwave 1, and a sinkbasin 1"
DIALOGUE = f"""\
look > You are in the middle of a kitchen. Looking quickly around you, you see {RECEPTACLES}.
open fridge 1 > Nothing happens. You are not at the fridge 1.
go to fridge 1 > You arrive at fridge 1. The fridge 1 is closed.
go to fridge 1 > Nothing happens. You are already at the fridge 1.
take apple 1 from fridge 1 > Nothing happens. The fridge 1 is closed.
examine apple 1 > Nothing happens. You see no apple 1 here.
open apple 1 > Nothing happens. You see no apple 1 here.
examine apple 7 > Nothing happens. You see no apple 7 here.
open fridge 1 > You open the fridge 1. The fridge 1 is open. In it, you see an apple 1.
open fridge 1 > Nothing happens. The fridge 1 is already open.
take apple 1 from fridge 1 > You pick up the apple 1 from the fridge 1.
inventory > You are carrying: an apple 1.
take apple 1 from fridge 1 > Nothing happens. You see no apple 1 in the fridge 1.
open apple 1 > Nothing happens. The apple 1 is a thing, not a place.
use fridge 1 > Nothing happens. The fridge 1 is a place, not a thing.
cool apple 1 with fridge 1 > You cool the apple 1 using the fridge 1.
examine apple 1 > This is a cool apple 1.
close fridge 1 > You close the fridge 1.
move apple 1 to fridge 1 > Nothing happens. The fridge 1 is closed.
go to microwave 1 > You arrive at microwave 1. The microwave 1 is closed.
cool apple 1 with microwave 1 > Nothing happens. You cannot cool anything with the microwave 1.
heat apple 1 with microwave 1 > You heat the apple 1 using the microwave 1.
go to sinkbasin 1 > You arrive at sinkbasin 1. In the sinkbasin 1, you see nothing.
open sinkbasin 1 > Nothing happens. The sinkbasin 1 has no door or lid.
clean apple 1 with sinkbasin 1 > You clean the apple 1 using the sinkbasin 1.
examine apple 1 > This is a hot and clean apple 1.
move apple 1 to sinkbasin 1 > Nothing happens. You cannot put the apple 1 in the sinkbasin 1.
go to countertop 1 > You arrive at countertop 1. On the countertop 1, you see a knife 1 and a desklamp 1.
take knife 1 from countertop 1 > Nothing happens. You already carry the apple 1.
slice apple 1 with knife 1 > Nothing happens. You are not carrying the knife 1.
move apple 1 to countertop 1 > You move the apple 1 to the countertop 1.
take desklamp 1 from countertop 1 > Nothing happens. The desklamp 1 has to stay where it is.
take knife 1 from countertop 1 > You pick up the knife 1 from the countertop 1.
slice knife 1 with knife 1 > Nothing happens. You cannot slice the knife 1 with itself.
slice fridge 1 with knife 1 > Nothing happens. The fridge 1 is a place, not a thing.
slice desklamp 1 with knife 1 > Nothing happens. The desklamp 1 cannot be sliced.
slice apple 1 with knife 1 > You slice the apple 1 with the knife 1.
slice apple 1 with knife 1 > Nothing happens. The apple 1 is already sliced.
examine apple 1 > This is a hot and clean sliced apple 1.
examine knife 1 > There's nothing special about knife 1.
use knife 1 > Nothing happens. There is no switch on the knife 1.
use desklamp 1 > You turn on the desklamp 1.
examine desklamp 1 > This desklamp 1 is on.
use desklamp 1 > You turn off the desklamp 1.
look > You are facing the countertop 1. On the countertop 1, you see an apple 1 and a desklamp 1.
heat knife 1 with countertop 1 > Nothing happens. You cannot heat anything with the countertop 1.
move knife 1 to countertop 1 > You move the knife 1 to the countertop 1.
inventory > You are not carrying anything.
go to attic 1 > Nothing happens. You see no attic 1 here."""


def test_a_whole_dialogue() -> None:
    """Each command is answered with these words; what is hidden and what does not exist are answered alike."""
    situation = Situation(TWO_PLACES)
    for line in DIALOGUE.splitlines():
        command, _, answer = line.partition(" > ")
        parsed = CommandForm().read(command)
        assert parsed is not None
        assert situation.do(parsed)[0] == answer


def test_without_explanations_the_answer_gives_no_reason() -> None:
    """As in ALFWorld."""
    assert Situation(TWO_PLACES, explain=False).do(Command("open", "fridge 1")) == ("Nothing happens.", False)


SHELVES = House(
    ("study",),
    0,
    tuple(Receptacle("shelf", f"shelf {number}", False, 0, number - 1) for number in (1, 2)),
    tuple(Thing("cup", f"cup {number}", frozenset({PORTABLE}), HELD if number == 1 else 0) for number in (1, 2)),
    frozenset({("cup", "shelf")}),
)


def test_two_things_must_share_one_receptacle() -> None:
    """One on each of two shelves is not two on one shelf, nor is one on a shelf and one in the hand."""
    situation, chore = Situation(SHELVES), Chore("cup", "shelf", number=2)
    assert not situation.holds(chore)
    situation.places = [1, 0]
    assert not situation.holds(chore)
    situation.places = [1, 1]
    assert situation.holds(chore)


def test_a_thing_needs_all_of_its_marks() -> None:
    """A clean cup is no clean hot cup; marks of different cups do not add up; further marks do no harm."""
    situation, chore = Situation(SHELVES), Chore("cup", "shelf", CLEAN | HOT)
    situation.places = [0, 0]
    for marks, done in (([0, 0], False), ([CLEAN, HOT], False), ([CLEAN | HOT, 0], True), ([7, 0], True)):
        situation.marks = marks
        assert situation.holds(chore) is done


def test_lists_have_the_commas_of_english_prose() -> None:
    """None for two things, which ALFWorld separates by a comma too, and one before "and" for three."""
    for as_alfworld, two in ((False, "a cup 1 and a cup 2"), (True, "a cup 1, and a cup 2")):
        situation = Situation(SHELVES, as_alfworld=as_alfworld)
        situation.places = [0, 0]
        assert situation.contents(0) == f"On the shelf 1, you see {two}."
    assert "a fridge 1, a countertop 1, a microwave 1, and a sinkbasin 1." in Situation(TWO_PLACES).overview()


def test_in_alfworld_only_what_is_carried_can_be_examined() -> None:
    """The quirk is under the argument."""
    for as_alfworld, possible in ((True, False), (False, True)):
        situation = Situation(SHELVES, as_alfworld=as_alfworld)
        situation.do(Command("go", "shelf 1"))
        assert situation.do(Command("examine", "cup 1"))[1]
        assert situation.do(Command("examine", "cup 2"))[1] is possible
