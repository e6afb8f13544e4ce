"""The results that the pages of the official packages show."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from gem.discovery.manifest import FILE_NAME, read_specs
from gem_hub.events import Result
from gem_hub_client.results.envelope import payload_in
from gem_hub_client.results.record import SCRIPTED_AGENTS, ResultRecord, read_payload

ROOT = Path(__file__).parents[2]
TASKS_OF_THE_USER = {"gem-envs-swe"}
"""Packages none of whose ids can be played by itself: the user names what tasks are made of."""
MODEL = "SmolLM2-135M-Instruct"
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
def test_one_table_of_each_package_has_policies_a_model_and_a_harness(package: str) -> None:
    """The three policies, a small model and a harness that is not gem-eval's own played the same seeds."""
    shown = {
        setting: ({record.label for record in records}, {record.harness for record in records})
        for setting, records in tables_of(package).items()
    }
    assert any(labels >= {*SCRIPTED_AGENTS, MODEL} and harnesses - OWN_LOOPS for labels, harnesses in shown.values()), (
        shown
    )
