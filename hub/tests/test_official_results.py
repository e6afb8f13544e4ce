"""The results that the pages of the official packages show."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from gem.discovery.manifest import FILE_NAME, read_specs
from gem_eval.clients import ScriptedClient
from gem_hub.events import Result
from gem_hub_client.results.envelope import payload_in
from gem_hub_client.results.record import SCRIPTED_AGENTS, ResultRecord, read_payload

ROOT = Path(__file__).parents[2]
TASKS_OF_THE_USER = {"gem-envs-swe"}
"""Packages none of whose ids can be played by itself: the user names what tasks are made of."""
MODEL = "SmolLM2-135M-Instruct"
WITHOUT_THE_MODEL = {"gem-envs-office"}
"""Packages that it has not played yet: the first prompt alone takes a core half a minute."""
OWN_LOOPS = {"scripted", "gem-eval"}


def packages() -> list[str]:
    """Return the packages of this repository that have environments."""
    manifests = sorted(ROOT.glob(f"packages/*/src/*/{FILE_NAME}"))
    return [path.parents[2].name for path in manifests if any(read_specs(path))]


def tables_of(package: str) -> dict[str, list[ResultRecord]]:
    """Return the results on a package, those together that a page compares with one another."""
    tables = defaultdict(list)
    for path in sorted((ROOT / "hub" / "results" / package).glob("*.json")):
        record = read_payload(payload_in(Result.model_validate_json(path.read_bytes()).envelope))
        tables[record.setting].append(record)
    return tables


@pytest.mark.parametrize("package", sorted({*packages()} - TASKS_OF_THE_USER))
def test_one_table_of_each_package_has_the_policies_a_model_and_a_harness(package: str) -> None:
    """The three policies, the small model and a harness that is not gem-eval's played the same seeds."""
    best: set[str] = set()
    for records in tables_of(package).values():
        shown = {record.label for record in records} & {*SCRIPTED_AGENTS, MODEL}
        shown |= {"a harness" for record in records if record.harness not in OWN_LOOPS}
        best = max(best, shown, key=len)
    model = set() if package in WITHOUT_THE_MODEL else {MODEL}
    assert best == {*SCRIPTED_AGENTS, "a harness", *model}


def test_the_blind_harness_shows_texts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No picture reaches the model, every text does, and its number is put into a box."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "hub"), *sys.path])
    from blind_harness import BlindPolicy

    client = ScriptedClient(["It is 7."])
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    act = asyncio.run(BlindPolicy(client).act([picture, {"type": "text", "text": "How many?"}], {}))
    assert client.prompts == [[{"role": "user", "content": "How many?"}]]
    assert act.action == "\\boxed{7}"
