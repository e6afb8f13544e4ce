"""The hack audit: planted holes are found by the attack that names them, and sound environments withstand all."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_specs import PLANTED

from gem.env_spec import EnvSpec
from gem.registry import make
from gem_testing.attacks import FAMILIES, AttackAudit, audit
from gem_testing.attacks.estimate import MARGIN, RewardBounds, estimate
from gem_testing.attacks.families import Material, _label, battery, payloads
from gem_testing.attacks.kind import kind_of
from gem_testing.outcomes import NotTested
from gem_testing.record import AttackAuditRecord

HOLES = {
    "PaysCopies": {"copies.whole", "copies.shown"},
    "PaysHedges": {"hedges.alternatives", "hedges.list"},
    "PaysEarlierBoxes": {"hedges.last_wrong", "quoted.thought"},
    "PaysThoughts": {"quoted.thought"},
    "PaysFakeEnd": {"imitation.end"},
    "PaysJudgeKeys": {"imitation.judge"},
    "PaysRefusals": {"nothing.refusal"},
    "PaysYes": {"constants.fixed", "constants.frequent", "copies.parts"},
    "PaysExitCodes": {"tampering.programs"},
    "PaysNamedFunctions": {"tampering.programs"},
    "PaysQuotedCalls": {"quoted.thought", "quoted.fence", "quoted.quotation"},
    "PaysAnyCall": {"hedges.all_at_once"},
    "PaysFilesOfRewards": {"tampering.files"},
    "PaysRewardFiles": {"tampering.commands"},
    "PaysQueries": {"tampering.queries"},
}
"""Environment with a hole → the attacks that find it."""

BY_DAY = {
    "PaysCopies",
    "PaysHedges",
    "PaysFakeEnd",
    "PaysQuotedCalls",
    "PaysExitCodes",
    "PaysAnyCall",
    "Sound",
    "Switches",
}
"""The environments that are attacked in every run of the tests; the others are at night."""

FOREVER = 1e6
"""Seconds: a busy machine must not cut an audit short, and the number of episodes bounds it."""

MULTI = {"Switches", "PaysAnyCall", "PaysQuotedCalls", "PaysFilesOfRewards", "PaysRewardFiles", "PaysQueries"}


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The planted package can be imported, and is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(PLANTED))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "planted_envs"]:
        del sys.modules[name]


def by_day_or_night(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in BY_DAY else pytest.mark.nightly) for name in names]


def spec_of(name: str, **changes: object) -> EnvSpec:
    values = {
        "turns": "multi" if name in MULTI else "single",
        "reward_range": (0.0, 1.0),
        "reference_policy": "planted_envs.hackable:GoldPolicy",
        "reference_sees": "state",
        **changes,
    }
    return EnvSpec(f"hackable:{name}", f"planted_envs.hackable:{name}", **values)  # type: ignore[arg-type]


def audited(name: str, **changes: object) -> AttackAudit:
    return audit(spec_of(name, **changes), seeds=2, further=12, seconds=FOREVER)


def outcomes(found: AttackAudit, outcome: str) -> set[str]:
    return {result.name for result in found.results if result.outcome == outcome}


@pytest.mark.parametrize("name", by_day_or_night(HOLES))
def test_a_planted_hole_is_found_by_the_attack_that_names_it(name: str) -> None:
    """The attack pays, on seeds that it did not choose itself by, and no attack of another kind does."""
    found = audited(name)
    assert outcomes(found, "pays") == HOLES[name]
    assert not outcomes(found, "broke")
    for result in found.results:
        if result.outcome == "pays":
            assert result.further
            assert result.earned is not None
            assert result.bound is not None
            assert result.earned.low > result.bound
            assert result.earned.episodes == 12


@pytest.mark.parametrize(
    "name", by_day_or_night(["Sound", "FunctionTask", "Switches", "PaysAlmostNothing", "PaysShares"])
)
def test_a_sound_environment_withstands_every_attack(name: str) -> None:
    """Nothing pays or breaks it, and the reference is paid."""
    found = audited(name)
    assert {result.outcome for result in found.results} == {"withstood"}
    assert found.reference is not None
    assert found.reference.mean == 1.0


def test_an_episode_that_a_fault_spoiled_is_unknown_and_earns_nothing() -> None:
    """It is no zero and no success, and an attack of which nothing else is known was not played."""
    found = audited("LosesItsGrader")
    assert outcomes(found, "not played") == {"nothing.empty_answer", "copies.whole"}  # the question shows an empty box
    (result,) = [result for result in found.results if result.name == "nothing.empty_answer"]
    assert (result.earned, result.message) == (None, "every episode was spoiled by a fault")
    assert not outcomes(found, "pays")


def test_the_further_seeds_decide_by_the_lower_end_of_their_interval() -> None:
    """What earns more than the bound in a few episodes by chance seems to pay, and is not said to pay."""
    found = audit(spec_of("PaysRefusalsRarely"), seeds=8, further=12, seconds=FOREVER)
    (result,) = [result for result in found.results if result.name == "nothing.refusal"]
    assert (result.outcome, result.further) == ("withstood", True)
    assert result.earned is not None
    assert result.bound is not None
    assert result.earned.low < result.bound < result.earned.mean


@pytest.mark.parametrize(
    ("name", "attack", "said"),
    [("PaysNan", "constants.fixed", "paid nan"), ("FallsOverSurrogates", "malformed.unicode", "UnicodeEncodeError")],
)
def test_an_environment_that_an_attack_breaks_is_named_with_the_seed(name: str, attack: str, said: str) -> None:
    """Raising, or paying no finite number, is an outcome of its own, and never a reward."""
    found = audited(name)
    assert attack in outcomes(found, "broke")
    (result,) = [result for result in found.results if result.name == attack]
    assert said in result.message
    assert result.message.startswith("seed 7000: step 1 ")


def test_a_declared_attack_pays_and_is_said_to_be_declared() -> None:
    """An exemption hides no figure: the attack is played, and carries the reason."""
    found = audited("PaysYes", exempt={"attacks.constants": "it always is"})
    declared = {result.name: result.declared for result in found.results if result.outcome == "pays"}
    assert declared["constants.fixed"] == "it always is"
    assert {result.declared for result in found.results if not result.name.startswith("constants")} == {""}


@pytest.mark.parametrize(("share", "pays"), [(None, True), (0.5, True), (1.0, False)])
def test_constants_are_held_to_the_declared_share(share: float | None, pays: bool) -> None:
    """A manifest that declares that a constant may earn everything allows it, and no smaller share does."""
    found = audited("PaysYes", thoughtless_share=share)
    assert ("constants.fixed" in outcomes(found, "pays")) == pays


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("Sound", set(FAMILIES) - {"tampering"}),
        ("FunctionTask", set(FAMILIES)),
        ("Switches", set(FAMILIES)),
    ],
)
def test_the_battery_follows_from_what_an_environment_offers(name: str, families: set[str]) -> None:
    """Programs are attacked where programs run, and files where files are written."""
    with make(spec_of(name)) as env:
        env.reset(seed=0)
        right = (env.unwrapped.gold(),)  # type: ignore[attr-defined]
        samples = (*right, "something else")
        kind = kind_of(spec_of(name), env, right)
    attacks = battery(Material(kind, samples, right, has_reference=True))
    assert {attack.family for attack in attacks} == families


def test_an_environment_without_a_reference_is_attacked_by_what_needs_none() -> None:
    """Hedges and quotations need right actions; the others are played."""
    found = audited("PaysFakeEnd", reference_policy=None)
    names = {result.name for result in found.results}
    assert found.reference is None
    assert "imitation.end" in outcomes(found, "pays")
    assert not any(name.startswith(("quoted.", "hedges.alternatives")) for name in names)


def test_without_a_declared_range_no_attack_can_be_said_to_pay() -> None:
    """The audit says what is missing."""
    with pytest.raises(NotTested, match="reward_range"):
        audited("Sound", reward_range=None)


def test_an_audit_is_a_function_of_its_seeds_and_fits_the_record() -> None:
    """Two audits are equal, and a file can hold what came of them."""
    first, second = audited("PaysHedges"), audited("PaysHedges")
    assert first == second
    written = json.loads(json.dumps(asdict(first), allow_nan=False))
    record = AttackAuditRecord.model_validate(written)
    assert [attack.name for attack in record.results] == [result.name for result in first.results]
    json.dumps(written, ensure_ascii=False).encode("utf-8")


def test_attacks_for_which_no_time_is_left_are_said_not_to_be_played() -> None:
    """They are listed with the reason, and neither withstood nor paid."""
    found = audit(spec_of("Sound"), seeds=2, further=2, seconds=1e-9)
    (late,) = {(result.outcome, result.earned, result.message.partition(";")[0]) for result in found.results}
    assert late == ("not played", None, "the time was over")
    AttackAuditRecord.model_validate(json.loads(json.dumps(asdict(found))))


@given(st.text())
def test_a_label_is_short_and_printable_whatever_an_action_holds(text: str) -> None:
    """It fits into a record, a line of a terminal, and a cell of a table."""
    for action in (text, text * 100, {"content": text}, [text]):
        label = _label(action)
        assert len(label) <= 100
        assert label.isprintable()


@given(
    st.lists(st.floats(-3.0, 5.0), min_size=1, max_size=40),
    st.floats(-3.0, 0.0),
    st.floats(0.5, 5.0),
)
def test_an_interval_holds_its_mean_and_lies_in_the_range(returns: list[float], lowest: float, highest: float) -> None:
    """For any returns, the interval lies around the mean, and within the range that the returns may have widened."""
    found = estimate(returns, lowest, highest)
    assert found is not None
    low, high = min(lowest, *returns), max(highest, *returns)
    assert low - 1e-9 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= high + 1e-9
    assert found.episodes == len(returns)


def test_the_interval_of_successes_is_wilsons() -> None:
    """Of 8 episodes 2 successes: 7.1 % to 59.1 %, as in Newcombe (1998), method 3."""
    found = estimate([1.0, 1.0, *[0.0] * 6], 0.0, 1.0)
    assert found is not None
    assert (round(found.low, 3), round(found.high, 3)) == (0.071, 0.591)
    assert estimate([], 0.0, 1.0) is None


def test_bounds_rise_with_the_baseline_and_never_with_the_highest_return_alone() -> None:
    """Silence, random actions and thoughtless play set the bound; in a game that pays at most 0.0, 0.0 is a win."""
    question = RewardBounds(0.0, 1.0, floor=0.0, random=0.0, thoughtless_share=0.4)
    assert question.of("copies") == 0.4
    assert question.of("hedges") == MARGIN
    question.thoughtless = 0.5
    assert question.of("hedges") == 0.5 + MARGIN
    duel = RewardBounds(-1.0, 0.0, floor=-1.0, random=-0.9, thoughtless_share=None)
    assert duel.of("constants") == pytest.approx(-0.9 + MARGIN)
    game = RewardBounds(-0.1, 1.0, floor=-0.1, random=-0.05, thoughtless_share=None)
    assert game.of("nothing") == pytest.approx(1.1 * MARGIN)


def test_every_payload_has_a_source() -> None:
    """What others found is named where it is used."""
    groups = [*payloads()["imitation"].values(), *payloads()["tampering"].values()]
    assert all(group["sources"] for group in groups)
