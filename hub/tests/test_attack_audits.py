"""The hack audit of a release: what the record may say, what the hub signs, and what the page shows."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hub_command import gem_hub
from hypothesis import given
from hypothesis import strategies as st
from site_pages import conformance_record, documents, parsed
from toy_hub import make_wheel, publish_wheel, synthetic_release

from gem_hub.attacks import attack_options, judge_attacks
from gem_hub.events import Conformance
from gem_hub.refusal import GateFindings
from gem_hub.site import pages
from gem_hub.store import Store
from gem_hub_client.cli.output import conformance
from gem_hub_client.errors import TrustError
from gem_hub_client.trust.attack_counts import COUNTS, attack_counts, audit_text
from gem_hub_client.trust.statements import contradiction, counts_of, read_statement
from gem_testing.attacks.audit import SECONDS
from gem_testing.record import EnvironmentRecord

pytestmark = pytest.mark.usefixtures("own_folders")

OUTCOMES = ("withstood", "pays", "broke", "not played")
HOSTILE = "</code><script>alert(1)</script>\u202e{{7*7}}"


def attack(outcome: str = "withstood", name: str = "hedges.list", **changes: Any) -> dict[str, Any]:
    """Return the record of one attack."""
    earned = {"episodes": 24, "mean": 0.5, "low": 0.3, "high": 0.7, "unknown": 0}
    values = {
        "name": name,
        "outcome": outcome,
        "bound": 0.05,
        "variants": 4,
        "episodes": 56,
        "variant": "$right, $many",
    }
    return {**values, "earned": earned, "further": outcome == "pays", "message": "", "declared": "", **changes}


def audit(*attacks: dict[str, Any]) -> dict[str, Any]:
    """Return the record of one environment's audit."""
    reference = {"episodes": 8, "mean": 1.0, "low": 0.676, "high": 1.0, "unknown": 0}
    values = {"kind": "single-turn, box", "seeds": [7000, 8], "further_seeds": [8000, 24], "null": None}
    return {**values, "reference": reference, "random": None, "results": list(attacks)}


def record(*audits: dict[str, Any] | None) -> dict[str, Any]:
    """Return a conformance record with an environment for each audit."""
    ids = [f"toy:Thing{number}-v0" for number in range(len(audits))]
    found = conformance_record({full_id: {"contract.step": "holds"} for full_id in ids})
    for environment, one in zip(found["packages"][0]["environments"], audits, strict=True):
        environment["attacks"] = one
    return found


@given(st.lists(st.lists(st.tuples(st.sampled_from(OUTCOMES), st.booleans(), st.integers(0, 999)), max_size=6)))
def test_counts_are_those_of_the_record(audits: list[list[tuple[str, bool, int]]]) -> None:
    """Whatever was played, each attack is counted once, and a declared one is not counted as paying."""
    made = [
        audit(*(attack(outcome, declared="so it is" * declared, episodes=count) for outcome, declared, count in one))
        for one in audits
    ]
    counts = attack_counts(record(*made))
    flat = [one for inner in audits for one in inner]
    if not audits:
        assert counts is None
        return
    assert counts is not None
    assert sum(counts[name] for name in COUNTS[2:]) == len(flat)
    assert counts["episodes"] == sum(count for _, _, count in flat)
    assert counts["declared"] == sum(outcome == "pays" and declared for outcome, declared, _ in flat)
    assert counts["environments"] == len(audits)
    assert audit_text(counts).startswith(f"{counts['withstood']} of ")


@pytest.mark.parametrize(
    "bad",
    [
        {"results": None},
        {"results": [{}]},
        {"results": [attack("won")]},
        {"results": [attack(episodes=-1)]},
        [1],
        "all",
    ],
)
def test_an_audit_that_cannot_be_counted_is_no_event(bad: Any) -> None:
    """The hub keeps none, and a client that is shown one refuses it."""
    found = record(bad)
    with pytest.raises(ValueError, match="audit of attacks"):
        Conformance(name="toy-envs", version="0.1.0", by="someone", record=found)
    with pytest.raises(TrustError, match="audit of attacks"):
        counts_of(found)


def test_attacks_that_pay_are_warnings_and_a_forged_declaration_is_refused() -> None:
    """Only the wheel's manifest declares, with its own words."""
    played = audit(
        attack("pays"),
        attack("broke", "malformed.unicode", message="seed 7000: step 1 raised"),
        attack("pays", "copies.whole", declared="the library pays"),
        attack("withstood"),
        attack("pays", "constants.fixed", declared="nobody declared this"),
    )
    (environment,) = record(played)["packages"][0]["environments"]
    findings = GateFindings()
    judge_attacks(EnvironmentRecord.model_validate(environment), {"attacks.copies": "the library pays"}, findings)
    assert [warning.code for warning in findings.warnings] == ["attacks.pays", "attacks.broke", "attacks.declared"]
    assert "0.50 in 24 episodes, and 0.05 is the bound" in str(findings.warnings[0])
    assert [refusal.code for refusal in findings.refusals] == ["conformance.record"]
    assert "constants.fixed" in str(findings.refusals[0])


def test_the_time_of_the_audit_is_a_part_of_the_runs() -> None:
    """Few environments get the usual time, many share a quarter of the run."""
    assert attack_options(1, 1800.0) == ["--attacks", "--attack-seconds", f"{SECONDS:.3f}"]
    assert attack_options(100, 1800.0)[-1] == "4.500"


def test_the_hub_signs_what_the_attacks_came_to(store: Store, tmp_path: Path) -> None:
    """The counts stand in the statement; a record that shows others contradicts it, and so does one that shows none."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    gem_hub("keys", "new", tmp_path / "alice.pem")
    gem_hub("keys", "init", "--hub", store.folder, "--key", tmp_path / "alice.pem")
    (name,) = store.packages()
    (release,) = store.existing(name).releases
    played = record(audit(attack(), attack("pays")), None)
    values: dict[str, Any] = {"record": played, "isolation": "jail", "sha256": release.sha256}
    store.add_event(Conformance(name=name, version=release.version, by=store.existing(name).owners[0], **values))
    (event,) = store.existing(name).conformance(release.version)
    assert event.statement is not None
    payload = json.loads(base64.b64decode(str(event.statement["payload"])))
    counts = {"environments": 1, "episodes": 112, "withstood": 1, "pays": 1, "declared": 0, "broke": 0, "not_played": 0}
    assert payload["predicate"]["attacks"] == counts
    root = json.loads((store.folder / "trust" / "1.root.json").read_bytes())["signed"]
    keys = {key: bytes.fromhex(root["keys"][key]["keyval"]["public"]) for key in root["roles"]["timestamp"]["keyids"]}
    statement = read_statement(event.statement, keys)
    assert "1 of 2 attacks withstood, 1 pays" in str(statement)
    assert contradiction(statement, release.sha256, counts_of(played)) == ""
    mended = record(audit(attack(), attack()), None)
    assert "says attacks" in contradiction(statement, release.sha256, counts_of(mended))
    assert "says attacks" in contradiction(statement, release.sha256, counts_of(record(None, None)))
    assert "1 of 2 attacks withstood, 1 pays" in conformance({"conformance": event.counts()})


def test_the_page_shows_the_audit_beside_the_scores() -> None:
    """A row for each environment with the reference's reward, and what pays or breaks it with interval and bound."""
    played = record(
        audit(
            attack(), attack("pays", variant=HOSTILE), attack("broke", "malformed.long", message=HOSTILE, earned=None)
        ),
        audit(attack(), attack("pays", "copies.whole", declared="the library pays")),
        None,
    )
    ids = tuple(environment["id"] for environment in played["packages"][0]["environments"])
    release, _ = synthetic_release("toy-envs", "0.1.0", ids)
    event = Conformance(name="toy-envs", version="0.1.0", by="someone", record=played)
    text = pages(documents([release], [event]))["p/toy-envs/index.html"]
    page = parsed(text)
    table = page.one("table", **{"class": "wide audit-table"})
    rows = table.one("tbody").all("tr")
    assert [row.attributes["data-environment"] for row in rows] == list(ids[:2])
    assert ["1 of 3" in rows[0].text, "1 of 2" in rows[1].text] == [True, True]
    assert len(rows[0].all("li")) == 2
    assert "0.5 (0.3 to 0.7, 24 episodes)" in " ".join(rows[0].text.split())
    assert "pays, as declared" in rows[1].text
    assert "1 (0.676 to 1, 8 episodes)" in " ".join(rows[0].text.split())
    assert b"<script>alert" not in text
    assert len(page.all("details", **{"class": "attacks"})) == 2
    without = parsed(pages(documents([release], []))["p/toy-envs/index.html"])
    assert not without.all("h2", id="attacks")
