"""Forms: letters, validation, dependent questions, and the record that is paid."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError
from gem_envs_web.form.env import FormEnv
from gem_envs_web.form.policy import FormPolicy
from gem_envs_web.form.tasks import FormTask
from gem_envs_web.form.values import FieldFormat
from gem_envs_web.sites.page import CHECKED

EASY, MIDDLE, HARD = LEVELS = ("web:Form-v0-easy", "web:Form-v0", "web:Form-v0-hard")
numbers = st.integers(0, (1 << 48) - 1)
DATES = {"iso": "%Y-%m-%d", "dots": "%d.%m.%Y", "month": "%d-%b-%Y", "british": "%d/%m/%Y", "american": "%m/%d/%Y"}


def form(name: str, number: int | None = None, **kwargs: Any) -> FormEnv:
    """Return the environment of a level, at the beginning of a task."""
    env = gem.make(name, **kwargs).unwrapped
    assert isinstance(env, FormEnv)
    if number is not None:
        env.reset(seed=0, options={"task": number})
    return env


def finished(env: FormEnv, policy: FormPolicy) -> float:
    """Return the reward of a policy that plays on to the end."""
    while True:
        _, reward, terminated, truncated, _ = env.step(policy.act("", {}))
        if terminated or truncated:
            return reward


def enter(env: FormEnv, label: str, value: str) -> None:
    field = env.page.field_called(label)
    assert field is not None
    if field.kind != "checkbox":
        env.step(f"{'select' if field.options else 'type'}[{label}][{value}]")
    elif env.typed[field.name] != value:
        env.step(f"click[{label}]")


def days(form: FieldFormat, text: str) -> date:
    return datetime.strptime(text, DATES[form.name]).date()


@given(number=numbers)
def test_what_the_letter_wants_is_accepted_and_earns_everything(number: int) -> None:
    """On every level and in both splits, and each wanted value fits its field."""
    env = form(LEVELS[number % 3], number, split=("train", "test")[number % 2])
    fields = env.task.fields()
    assert all(fields[key].form.fits(text) for key, text in env.task.wanted().items() if fields[key].kind == "text")
    assert finished(env, FormPolicy(env)) == 1.0


@given(number=numbers, data=st.data())
def test_one_wrong_field_earns_nothing(number: int, data: st.DataObject) -> None:
    """Whichever it is, even if the form accepts it."""
    env = form(MIDDLE, number)
    wanted = env.task.wanted()
    plain = [f for f in env.task.fields().values() if f.name in wanted and f.form.name in ("text", "digits")]
    spoiled = data.draw(st.sampled_from([f for f in plain if f.kind == "text"] or plain))
    policy = FormPolicy(env)
    while "Send" not in [getattr(piece, "label", "") for piece in env.page.pieces()]:
        action = policy.act("", {})
        if action == "click[Next]" and spoiled.name in env.page.fields():
            enter(env, spoiled.label, "997")
        env.step(action)
    _, reward, terminated, _, info = env.step("click[Send]")
    assert (reward, terminated, info["success"]) == (0.0, True, False)


@given(number=numbers)
def test_derived_fields_follow_from_the_others(number: int) -> None:
    """Computed a second time from the texts of the form."""
    task = form(HARD, number).task
    fields = task.fields()
    tables = {"nights": ("arrival", "departure"), "delay": ("day", "noticed"), "span": ("start", "end")}
    for name, (one, other) in tables.items():
        if name in fields:
            spent = days(fields[other].form, fields[other].wanted) - days(fields[one].form, fields[one].wanted)
            assert fields[name].wanted == str(spent.days)
    products = {"items": "price", "months": "rent", "lessons": "fee", "pieces": "value"}
    for count, price in products.items():
        total = next((fields[name] for name in ("sum", "total") if name in fields), None)
        if total is not None and count in fields and price in fields:
            cents = int(re.sub(r"\D", "", fields[price].wanted))
            assert int(re.sub(r"\D", "", total.wanted)) == int(fields[count].wanted) * cents


@given(number=numbers)
def test_the_letter_says_every_value(number: int) -> None:
    """Right ones and misleading ones, as far as a letter writes them in one way only."""
    task = form(HARD, number).task
    brief = task.brief.replace(" ", "")
    for field in task.fields().values():
        if field.name not in task.wanted():
            continue
        for value in (field.wanted, field.first):
            if field.form.name in ("hyphen", "joined"):
                assert f"{value[:2]}-{value[-5:]}" in brief
            elif field.form.name in ("plus", "zeros"):
                assert re.sub(r"^00", "+", value) in brief
            elif field.form.name in ("email", "text") and field.kind == "text":
                assert value.replace(" ", "") in brief


def test_levels_mislead_as_much_as_they_say() -> None:
    """Values that are mentioned first and not meant, wrong defaults and derived fields, over 60 letters a level."""
    for name, misleading in ((EASY, (0, 0)), (MIDDLE, (45, 120)), (HARD, (120, 300))):
        tasks = [form(name, number).task for number in range(60)]
        first = sum(f.first != f.wanted for task in tasks for f in task.fields().values())
        assert misleading[0] <= first <= misleading[1]
        prefilled = sum(bool(f.default) for task in tasks for f in task.fields().values())
        assert (prefilled > 30) is (name != EASY)


def test_no_phrasing_dominates() -> None:
    """Of the sentences that correct a value, no skeleton makes up a fifth; of openings, none a tenth."""
    letters = [form(MIDDLE, number).task.brief for number in range(200)]
    corrections = [
        re.sub(r"about .*?:|: .*", "", line) for text in letters for line in text.splitlines() if "P.S." in line
    ]
    assert max(Counter(line[:22] for line in corrections).values()) < len(corrections) / 3
    openings = Counter(text.splitlines()[1][:24] for text in letters)
    assert max(openings.values()) < 25


def test_training_and_testing_share_no_family_name() -> None:
    """So no letter is in both."""
    names = [{form(MIDDLE, n, split=split).task.wanted()["family"] for n in range(150)} for split in ("train", "test")]
    assert not names[0] & names[1]
    assert len(names[0]) > 3 * len(names[1]) > 24


@pytest.mark.nightly
def test_there_are_more_than_a_million_letters() -> None:
    """Of 3,000 tasks of the easiest level no two are alike, so with 95 % there are more than 10⁶ (birthday bound)."""
    assert len({form(EASY, number).task.brief for number in range(3000)}) == 3000


def with_condition(name: str) -> tuple[FormEnv, FormTask, str]:
    """Return a task in which a question depends on a box of the same page."""
    for number in range(1000):
        env = form(name, number, pages=1, fields=12)
        for field in env.task.fields().values():
            if (
                field.condition is not None
                and field.condition[1] == CHECKED
                and env.task.wanted().get(field.condition[0])
            ):
                return env, env.task, field.name
    raise AssertionError("no such task")


def test_a_dependent_question_appears_when_its_condition_is_sent() -> None:
    """With an error that says why; and it is gone when the condition is taken back."""
    env, task, name = with_condition(EASY)
    fields = task.fields()
    child = fields[name]
    assert child.condition is not None
    box = fields[child.condition[0]].label
    assert env.page.field_called(child.label) is None
    env.step(f"click[{box}]")
    observation, *_ = env.step("click[Send]")
    assert env.page.field_called(child.label) is not None
    assert "This question follows from your answers." in observation
    env.step(f"click[{box}]")
    env.step("click[Send]")
    assert env.page.field_called(child.label) is None


def test_a_hidden_format_is_said_after_a_mistake() -> None:
    """And not before; the value stays."""
    for number in range(100):
        env = form(HARD, number, fields=5, pages=1, derived=0, misleading=0, prefilled=0)
        field = next((f for f in env.task.fields().values() if f.form.name == "iso" and f.condition is None), None)
        if field is not None:
            break
    assert field is not None
    assert "YYYY" not in env.page.text({})
    env.step(f"type[{field.label}][3 May 2026]")
    observation, *_ = env.step("click[Send]")
    assert "! Wanted: YYYY-MM-DD." in observation
    assert f'{field.label}: "3 May 2026"' in observation


@pytest.mark.parametrize("text", ["2026-02-30", "26-02-03", "2026-2-3", "2026-02-03 ", "0000-01-01", "२०२६-०१-०१"])
def test_a_date_must_be_on_the_calendar(text: str) -> None:
    """In the format of the field."""
    wanted = FieldFormat("iso", "YYYY-MM-DD", r"\d{4}-\d{2}-\d{2}")
    assert not wanted.fits(text)
    assert wanted.fits("2024-02-29")


def test_a_later_date_must_be_later() -> None:
    """The form says than which."""
    for number in range(300):
        env = form(MIDDLE, number, pages=1)
        later = next((f for f in env.task.fields().values() if f.later_than), None)
        if later is not None and {later.name, later.later_than} <= env.task.wanted().keys():
            break
    assert later is not None
    before = env.task.fields()[later.later_than]
    day = days(before.form, before.wanted).strftime(DATES[later.form.name])
    policy = FormPolicy(env)
    while (action := policy.act("", {})) != "click[Send]":
        env.step(action)
    enter(env, later.label, day)
    observation, *_ = env.step("click[Send]")
    assert f'This must be later than "{before.label}".' in observation


def test_pages_cannot_be_skipped() -> None:
    """The address of a later page is refused until the earlier ones are complete."""
    env = form(MIDDLE, 5)
    for address in ("page-2", "review", "page-0", "page-3", "sent", ""):
        with pytest.raises(ArgumentError):
            env.site.page(address)


def test_a_page_can_be_changed_after_the_review() -> None:
    """What counts is the record when it is sent."""
    env = form(MIDDLE, 8)
    policy = FormPolicy(env)
    env.step("type[First name][X]")
    label = next(f.label for f in env.task.fields().values() if f.name == "given")
    while "Change page 1" not in [getattr(piece, "label", "") for piece in env.page.pieces()]:
        env.step(policy.act("", {}))
    env.step("click[Change page 1]")
    env.step(f"type[{label}][Somebody]")
    env.step("click[Next]")
    env.step("click[Next]")
    assert env.site.record()["given"] == "Somebody"
    env.step("click[Change page 1]")
    assert finished(env, policy) == 1.0


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"pages": 0}, "pages"),
        ({"fields": 2}, "fields"),
        ({"pages": 5, "fields": 4}, "fields"),
        ({"misleading": -1}, "misleading"),
        ({"derived": 3}, "derived"),
        ({"split": "dev"}, "split"),
    ],
)
def test_bad_arguments_are_refused_by_name(kwargs: dict[str, Any], message: str) -> None:
    """Before any form is made."""
    with pytest.raises(ArgumentError, match=message):
        gem.make(MIDDLE, **kwargs)


def test_a_letter_of_the_easy_level_quotes_the_options_of_the_form() -> None:
    """An option such as "Keep it at the post office" would break a sentence without quotation marks."""
    env = gem.make("web:Form-v0-easy")
    quoted = 0
    for seed in range(40):
        observation, _ = env.reset(seed=seed)
        letter = observation.partition("The letter:")[2].partition("Actions:")[0]
        for options in re.findall(r"one of: ([^)]*)\)", observation):
            named = [option for option in options.split(" / ") if f'"{option}"' in letter]
            assert len(named) == 1, (letter, options)
            quoted += 1
    assert quoted > 10
