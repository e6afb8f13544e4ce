"""Forged, misplaced and repeated results are refused with the reason, whoever signed them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signed_results import (
    OWNER,
    forged_event,
    made_result,
    new_key,
    replace_in_payload,
    signed_event,
    tampered_event,
    toy_package,
)

from gem_hub.errors import HubRefusal
from gem_hub.events import Quarantine, Result, ResultDecision
from gem_hub.results.admission import check_decision, check_result, unpacked_episodes
from gem_hub.results.state import results_of
from gem_hub_client.results.envelope import PublisherKey
from gem_hub_client.results.record import COLUMNS, ResultError, ResultRecord, payload_of, read_payload
from gem_rollout.trajectory import OUTCOMES

SCORES = [1.0, 0.0, 1.0, 0.5, 0.0, 1.0]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> PublisherKey:
    """The key of bob, who owns nothing."""
    return new_key(tmp_path_factory.mktemp("keys"), "bob")


@pytest.fixture(scope="module")
def other_key(tmp_path_factory: pytest.TempPathFactory) -> PublisherKey:
    """The key of mallory."""
    return new_key(tmp_path_factory.mktemp("keys"), "mallory")


@pytest.fixture(scope="module")
def honest(key: PublisherKey) -> ResultRecord:
    """Bob's honest result, from which the forged ones are made."""
    return made_result("bob", key, SCORES)


def in_episode(column: str, value: Any, number: int = 1) -> Callable[[dict[str, Any]], None]:
    """Return what writes a value into an episode."""

    def forge(predicate: dict[str, Any]) -> None:
        predicate["episodes"][number][COLUMNS.index(column)] = value

    return forge


def field(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return what writes a field."""
    return lambda predicate: predicate.__setitem__(name, value)


def total(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return what writes a figure of the summary."""
    return lambda predicate: predicate["summary"].__setitem__(name, value)


HTML = "<img src=x onerror=alert(1)>"
FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    # scores
    "a better return": (in_episode("return", 1.0), "summary.mean_return"),
    "a success that was none": (in_episode("outcome", "succeeded"), "summary.outcomes.succeeded"),
    "a failure as a success": (in_episode("failure", "endpoint:timeout"), "endpoint failed, so its outcome is unknown"),
    "an agent's failure as a success": (in_episode("failure", "agent:exception", 0), "the agent failed"),
    "a return beyond the range": (in_episode("return", 1.5), "pays 0 to 1"),
    "a return beyond the range under a history": (
        lambda p: (p.update(wrappers=["messages"]), in_episode("return", 1e8)(p)), "pays 0 to 1"
    ),
    "a return below the range": (in_episode("return", -0.5), "pays 0 to 1"),
    "a return that is no number": (in_episode("return", float("nan")), "NaN is no number"),
    "an endless return": (in_episode("return", float("inf")), "Infinity is no number"),
    "an endless loss": (in_episode("return", float("-inf")), "-Infinity is no number"),
    "a huge return": (in_episode("return", 1e300), "episode 2: return"),
    "a return beyond all floats": (in_episode("return", 10**400), "episode 2: return"),
    "a return as text": (in_episode("return", "1.0"), "episode 2: return"),
    "a return that is true": (in_episode("return", True), "episode 2: return"),
    "an unknown outcome word": (in_episode("outcome", "perfect"), "episode 2: outcome"),
    "an untold among told": (in_episode("outcome", "untold"), "contradict each other"),
    "a better mean": (lambda p: p["summary"]["mean_return"].__setitem__("value", 1.0), "summary.mean_return.value"),
    "a narrower interval": (lambda p: p["summary"]["success"].__setitem__("low", 0.49), "summary.success.low"),
    "bounds without unknowns": (total("success_bounds", [0.0, 1.0]), "summary.success_bounds"),
    "no interval": (lambda p: p["summary"]["success"].pop("low"), "summary.success must have"),
    "fewer tokens": (total("prompt_tokens", 1), "summary.prompt_tokens"),
    "a lower price": (total("cost", 0.0), "summary.cost"),
    "a figure beyond all floats": (total("cost", 10**400), "plain JSON"),
    "a figure as text": (total("cost", "0.006"), "summary.cost"),
    # episodes
    "a missing episode": (lambda p: p["episodes"].pop(2), "seed 2, repetition 0 is missing"),
    "an extra episode": (lambda p: p["episodes"].append([9, *p["episodes"][0][1:]]), "seed 9, repetition 0 is not pl"),
    "only the good ones": (lambda p: p.update(episodes=[p["episodes"][0]]), "is missing"),
    "an episode twice": (lambda p: p["episodes"].__setitem__(1, p["episodes"][0]), "seed 1, repetition 0 is missing"),
    "two episodes swapped": (lambda p: p["episodes"].reverse(), "twice or out of order"),
    "one digest twice": (lambda p: p["episodes"][1].__setitem__(-1, p["episodes"][0][-1]), "one digest"),
    "no episodes": (field("episodes", []), "1 to 5000 episodes"),
    "too many episodes": (lambda p: p.update(episodes=[[0]] * 6000), "1 to 5000 episodes"),
    "an episode too short": (lambda p: p["episodes"][1].pop(), "must have the 10 values"),
    "an episode that is no list": (lambda p: p["episodes"].__setitem__(1, {}), "must have the 10 values"),
    "another plan": (field("planned", 7), "seed 6, repetition 0 is missing"),
    "other seeds": (field("seed", 100), "seed 100, repetition 0 is missing"),
    "another group": (field("group", 4), "no multiple"),
    "tokens below none": (in_episode("prompt_tokens", -1), "episode 2: prompt_tokens"),
    "tokens in parts": (in_episode("prompt_tokens", 1.5), "episode 2: prompt_tokens"),
    "a price below none": (in_episode("cost", -1.0), "episode 2: cost"),
    "turns beyond count": (in_episode("turns", 10**9), "episode 2: turns"),
    "a failure with markup": (in_episode("failure", f"agent:{HTML}"), "SOURCE:KIND"),
    "a digest too short": (in_episode("sha256", "abc"), "a SHA-256 in hex"),
    # place
    "another wheel": (lambda p: p.update(wheel="f" * 64), "this is no result"),
    "other code": (field("code", "e" * 64), "made with other code"),
    "another environment of the package": (field("environment", "toy:Missing-v0"), "has no environment"),
    "an environment of somebody": (field("environment", "bob/toy:Thing-v0"), "without an owner"),
    "an environment with markup": (field("environment", HTML), "the id of an environment"),
    "another package": (field("package", "other-envs"), "is about other-envs"),
    "another version": (field("version", "0.2.0"), "is about toy-envs 0.2.0"),
    # names and settings
    "markup in the model": (field("model", HTML), "model must be a name"),
    "markup in the harness": (field("harness", "<script>"), "harness must be a name"),
    "markup in the sampling": (field("sampling", {"stop": ["</script>"]}), "plain JSON"),
    "markup in a key of the sampling": (field("sampling", {HTML: 1}), "plain JSON"),
    "an escape sequence": (field("model", "gpt\x1b[2J"), "model must be a name"),
    "text that runs backwards": (field("model", "model\u202etxt"), "model must be a name"),
    "a letter of another script": (field("model", "g\u0440t-4"), "model must be a name"),
    "an endless name": (field("model", "m" * 121), "model must be a name"),
    "a model that plays as a script": (field("agent", "reference"), "a model's agent is 'model'"),
    "a model that is called as a script": (field("model", "reference"), "only the reference policy itself"),
    "a model that is nearly called so": (field("model", "Random"), "only the random policy itself"),
    "an agent that is nearly called so": (lambda p: p.update(agent="Null", model=""), "only the null policy itself"),
    "a script behind a program": (lambda p: p.update(agent="reference", model=""), "with harness 'scripted'"),
    "a model as a script": (field("harness", "scripted"), "stands for agents without one"),
    "a model as nearly a script": (field("harness", "Scripted"), "stands for agents without one"),
    "a wrapper by address": (field("wrappers", ["os:system"]), "names of wrappers"),
    "a wrapper's address in a table": (field("wrappers", [{"name": "os:system"}]), "names of wrappers"),
    "settings that are no object": (field("sampling", [1]), "plain JSON"),
    "settings without end": (field("sampling", {"a": "x" * 9000}), "plain JSON"),
    "settings too deep": (lambda p: p.update(sampling={"a": json.loads("[" * 30 + "]" * 30)}), "plain JSON"),
    "an address of a file": (field("raw_url", "file:///etc/passwd"), "https address"),
    "an address with a script": (field("raw_url", "javascript:alert(1)"), "https address"),
    "an address with a name": (field("raw_url", "https://user:pw@host.example/x"), "https address"),
    "a moment that is none": (field("created", "yesterday"), "a time such as"),
    "software that is none": (field("software", {"<b>": "1"}), "names of distributions"),
    "an unknown field": (field("winner", True), "'winner' is unknown"),
    "a missing field": (lambda p: p.pop("limits"), "'limits' is missing"),
    "a key that is none": (field("key", "0" * 64), "another key than the result names"),
    "somebody else's name": (field("publisher", OWNER), "is signed as that of 'alice', and 'bob' publishes it"),
    "a huge payload": (lambda p: p.update(software={"a": "1" * 1_100_000}), "no text, or has over 1,000,000 bytes"),
}  # fmt: skip

TAMPERED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a score changed after signing": (lambda e: replace_in_payload(e, ',"unsuccessful",0.5,', ',"unsuccessful",1.0,'),
                                      "signature is not by the key"),
    "another environment after signing": (lambda e: replace_in_payload(e, "Thing-v0", "Other-v0"), "signature is not"),
    "blanks after signing": (lambda e: replace_in_payload(e, ',"planned"', ', "planned"'), "the one form"),
    "a key twice": (lambda e: replace_in_payload(e, ',"planned"', ',"planned":6,"planned"'), "the one form"),
    "no signature": (lambda e: e.update(signatures=[]), "no envelope"),
    "two signatures": (lambda e: e.update(signatures=e["signatures"] * 2), "no envelope"),
    "a signature of zeros": (lambda e: e["signatures"][0].update(sig="A" * 86 + "=="), "signature is not by"),
    "a short signature": (lambda e: e["signatures"][0].update(sig="AAAA"), "signature is not by"),
    "another key's name": (lambda e: e["signatures"][0].update(keyid="a" * 64), "another key than the result names"),
    "another kind of payload": (lambda e: e.update(payloadType="text/html"), "no envelope"),
    "a further field": (lambda e: e.update(note="x"), "no envelope"),
    "no JSON": (lambda e: e.update(payload="AAAA"), "no result"),
    "deep JSON": (lambda e: e.update(payload="W1tb" * 100_000), "no result"),
}  # fmt: skip


def test_an_honest_result_is_taken(key: PublisherKey) -> None:
    """The result from which all forged ones are made passes each rule."""
    check_result(signed_event(made_result("bob", key, SCORES), key), toy_package())


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_result_is_refused_although_its_signature_is_right(
    forgery: str, honest: ResultRecord, key: PublisherKey
) -> None:
    """What a publisher signs counts no more than what can be true."""
    forge, reason = FORGED[forgery]
    with pytest.raises((HubRefusal, ValueError)) as refused:
        check_result(forged_event(honest, key, forge), toy_package())
    assert reason in str(refused.value)


@pytest.mark.parametrize("tampering", TAMPERED)
def test_a_result_that_was_changed_after_signing_is_refused(
    tampering: str, honest: ResultRecord, key: PublisherKey
) -> None:
    """Nobody changes what a publisher has signed."""
    tamper, reason = TAMPERED[tampering]
    with pytest.raises((HubRefusal, ValueError)) as refused:
        check_result(tampered_event(honest, key, tamper), toy_package())
    assert reason in str(refused.value)


@pytest.mark.nightly
@given(st.data())
def test_no_changed_byte_of_a_payload_passes(key: PublisherKey, data: st.DataObject) -> None:
    """Whatever byte of a signed payload another one replaces, the result is refused."""
    event = signed_event(made_result("bob", key, SCORES), key)
    payload = bytearray(payload_of(made_result("bob", key, SCORES)))
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] ^= data.draw(st.integers(1, 255))
    forged = {**event.envelope, "payload": key.envelope(bytes(payload))["payload"]}
    with pytest.raises(HubRefusal):
        check_result(event.model_copy(update={"envelope": forged}), toy_package())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"by": "mallory"}, "is signed as that of 'bob', and 'mallory' publishes it"),
        ({"version": "0.2.0"}, "is published for toy-envs 0.2.0"),
        ({"sha256": "d" * 64}, "is about a wheel with sha256"),
        ({"sha256": ""}, "is about a wheel with sha256"),
    ],
)
def test_an_event_says_of_a_result_what_the_result_says(
    changes: dict[str, Any], reason: str, key: PublisherKey
) -> None:
    """A signed result cannot be published by another account, for another version or for another wheel."""
    with pytest.raises(HubRefusal, match=reason):
        check_result(signed_event(made_result("bob", key, SCORES), key, **changes), toy_package())


@pytest.mark.parametrize("changes", [{"wheel": "d" * 64}, {"filename": "toy_envs-0.1.0-py2-none-any.whl"}])
def test_a_result_of_another_wheel_cannot_be_published_for_this_one(changes: dict[str, Any], key: PublisherKey) -> None:
    """What was signed for one file is not a result of another, whatever the event says."""
    record = made_result("bob", key, SCORES)
    event = signed_event(replace(record, **changes), key, sha256=record.wheel)
    with pytest.raises(HubRefusal, match="run it with the published wheel"):
        check_result(event, toy_package())


def test_an_honest_signature_by_somebody_else_is_refused(key: PublisherKey, other_key: PublisherKey) -> None:
    """After the first result of an account, no other key speaks for it, and its key speaks for nobody else."""
    package = toy_package()
    first = signed_event(made_result("bob", key, SCORES), key)
    package = package.after(first.model_copy(update={"serial": 3}))
    with pytest.raises(HubRefusal, match="another key than the earlier results of 'bob'"):
        check_result(signed_event(made_result("bob", other_key, SCORES, salt="2"), other_key), package)
    with pytest.raises(HubRefusal, match="signed with the key of 'bob'"):
        check_result(signed_event(made_result("mallory", key, SCORES, salt="3"), key), package)


def test_a_result_counts_once(key: PublisherKey, other_key: PublisherKey) -> None:
    """The same result, its episodes under another environment, and a copy by another account are refused."""
    package = toy_package()
    record = made_result("bob", key, SCORES)
    package = package.after(signed_event(record, key).model_copy(update={"serial": 3}))
    with pytest.raises(HubRefusal, match="is published already"):
        check_result(signed_event(record, key), package)
    with pytest.raises(HubRefusal, match="each episode counts once"):
        check_result(signed_event(replace(record, environment="toy:Other-v0"), key), package)
    copied = replace(record, publisher="mallory", key=other_key.public)
    with pytest.raises(HubRefusal, match="each episode counts once"):
        check_result(signed_event(copied, other_key), package)


def test_a_withdrawn_result_stays_withdrawn(key: PublisherKey) -> None:
    """It cannot be published again, admitted, or withdrawn twice."""
    package = toy_package()
    event = signed_event(made_result("bob", key, SCORES), key)
    package = package.after(event.model_copy(update={"serial": 3}))
    gone = ResultDecision(name=package.name, by="bob", result=event.id, action="withdraw", reason="trained on them")
    check_decision(gone, package, [])
    package = package.after(gone.model_copy(update={"serial": 4}))
    assert [(one.state, one.by, one.reason) for one in results_of(package)] == [("withdrawn", "bob", "trained on them")]
    with pytest.raises(HubRefusal, match="what is withdrawn does not come back"):
        check_result(event, package)
    decisions: tuple[Literal["admit", "withdraw"], ...] = ("admit", "withdraw")
    for action in decisions:
        again = ResultDecision(name=package.name, by=OWNER, result=event.id, action=action, reason="x")
        with pytest.raises(HubRefusal, match="which is final"):
            check_decision(again, package, [])
        # An event that came in by another way changes nothing either.
        assert results_of(package.after(again.model_copy(update={"serial": 5})))[0].state == "withdrawn"


@pytest.mark.parametrize(
    ("by", "action", "allowed"),
    [
        (OWNER, "admit", True), ("olivia", "admit", True), ("bob", "admit", False), ("mallory", "admit", False),
        (OWNER, "withdraw", True), ("olivia", "withdraw", True), ("bob", "withdraw", True),
        ("mallory", "withdraw", False),
    ],
)  # fmt: skip
def test_owners_admit_and_publishers_withdraw(
    by: str, action: Literal["admit", "withdraw"], allowed: bool, key: PublisherKey
) -> None:
    """Nobody admits a result of their own on another's package."""
    event = signed_event(made_result("bob", key, SCORES), key)
    package = toy_package().after(event.model_copy(update={"serial": 3}))
    decision = ResultDecision(name=package.name, by=by, result=event.id, action=action, reason="x")
    if allowed:
        check_decision(decision, package, ["olivia"])
        return
    with pytest.raises(HubRefusal, match=f"{by!r} may not {action}"):
        check_decision(decision, package, ["olivia"])


def test_a_result_is_of_a_known_release_that_is_offered(key: PublisherKey) -> None:
    """A quarantined package takes none, nor does a release whose code nobody has looked at."""
    package, event = toy_package(), signed_event(made_result("bob", key, SCORES), key)
    quarantine = Quarantine(name=package.name, by="olivia", reason="unsafe", serial=3)
    with pytest.raises(HubRefusal, match="is quarantined"):
        check_result(event, package.after(quarantine))
    with pytest.raises(HubRefusal, match="gem hub check toy-envs"):
        check_result(event, replace(package, events=()))


def test_a_publisher_cannot_flood_a_package(key: PublisherKey) -> None:
    """After twenty results that no owner has looked at, an account waits."""
    package = toy_package()
    for number in range(20):
        event = signed_event(made_result("bob", key, [1.0, 0.0], salt=str(number)), key)
        check_result(event, package)
        package = package.after(event.model_copy(update={"serial": 3 + number}))
    with pytest.raises(HubRefusal, match="wait for an owner"):
        check_result(signed_event(made_result("bob", key, [1.0, 0.0], salt="20"), key), package)


def test_episodes_that_are_sent_along_are_those_of_the_result(key: PublisherKey) -> None:
    """Lines with another digest, too large once they are unpacked, or damaged, are refused."""
    event = signed_event(made_result("bob", key, SCORES), key)
    with pytest.raises(HubRefusal, match="have not the sha256"):
        check_result(event, toy_package(), gzip.compress(b"{}\n"))
    with pytest.raises(HubRefusal, match="no gzip"):
        check_result(event, toy_package(), b"lines")
    with pytest.raises(HubRefusal, match="no gzip"):
        check_result(event, toy_package(), gzip.compress(b"{}\n")[:-9])


@pytest.mark.nightly
def test_a_bomb_is_not_unpacked() -> None:
    """A small file that unpacks to more than the limit is refused before all of it is in memory."""
    with pytest.raises(HubRefusal, match="give their address instead"):
        unpacked_episodes(gzip.compress(bytes(70 * 2**20)))


def test_a_record_reads_as_it_was_written(key: PublisherKey) -> None:
    """Payload and record hold the same, and every outcome of a rollout is one of a result."""
    record = made_result("bob", key, SCORES)
    assert read_payload(payload_of(record)) == record
    assert read_payload(payload_of(record)).setting == record.setting
    from gem_hub_client.results import record as format_of_results

    assert tuple(OUTCOMES) == format_of_results.OUTCOMES


def test_a_payload_cannot_be_made_of_a_wrong_record(key: PublisherKey) -> None:
    """The writer refuses what the reader would."""
    with pytest.raises(ResultError, match="model must be a name"):
        payload_of(made_result("bob", key, SCORES, model=HTML))


def test_reading_an_event_asks_for_a_payload_alone() -> None:
    """An event stays readable when the rules for new ones change; one without a payload is none."""
    with pytest.raises(ValueError, match="no envelope of a result"):
        Result(name="toy-envs", by="bob", version="0.1.0", sha256="", envelope={"payload": 7})
