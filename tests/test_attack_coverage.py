"""Every bundled environment that can be attacked without a network has been, and the kept audits say that none pays."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from types import ModuleType

import pytest


@pytest.fixture
def attack_audit() -> ModuleType:
    """The script that attacks the bundled environments."""
    return import_module("attack_audit")


def test_every_environment_that_can_be_attacked_was(attack_audit: ModuleType) -> None:
    """A new id has none until 'python benchmarks/attack_audit.py' has played its battery; a removed one keeps none."""
    playable = {spec.id for spec in attack_audit.attacked_specs() if attack_audit.is_playable(spec)}
    assert {"rg:word_sorting", "math:GSM8K", "eval:CodeContest"} < playable
    assert playable == attack_audit.kept_audits().keys()


def test_no_attack_pays_that_a_manifest_does_not_declare(attack_audit: ModuleType) -> None:
    """Each audit ended without an error, played every attack that fits, and what pays is declared with its reason."""
    for full_id, audit in attack_audit.kept_audits().items():
        assert not audit["error"], (full_id, audit["error"])
        for family, counts in audit["families"].items():
            assert counts["attacks"] == counts["withstood"] + counts["pay, declared"], (full_id, family, counts)


def test_the_published_tables_are_those_of_the_kept_audits(
    attack_audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The guide's tables count the audits that are kept now."""
    results = import_module("results")
    monkeypatch.setattr(sys, "argv", ["attack_audit.py", "--no-play"])
    attack_audit.main()
    tables = results.tables_of(capsys.readouterr().out.splitlines())
    published = json.loads((results.FOLDER / "attack_audit.json").read_text(encoding="utf-8"))["tables"]
    assert {str(number): table for number, table in enumerate(tables, 1)} == published
