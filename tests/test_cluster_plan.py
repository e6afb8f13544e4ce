"""The plan for 100 machines: computed from kept result files, and the guide names what is used up first."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that computes it."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("results", "cluster_plan"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module("cluster_plan")


def test_the_kept_plan_is_the_one_that_the_kept_figures_give(
    plan: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new measurement of calls, requests or memory changes the plan, or this fails."""
    plan.main()
    printed = import_module("results").tables_of(capsys.readouterr().out.splitlines())
    kept = json.loads((ROOT / "benchmarks/results/cluster_plan.json").read_text(encoding="utf-8"))["tables"]
    assert list(kept.values()) == printed


def test_the_guide_names_what_is_used_up_first(plan: ModuleType) -> None:
    """In bold, one for each layout, in their order."""
    guide = (ROOT / "docs/guides/scale.md").read_text(encoding="utf-8")
    section = guide.partition("## The plan")[2].partition("\n## ")[0]
    first = [min(found, key=lambda item: item.most).name for found in plan.components().values()]
    assert re.findall(r"\*\*([^*|]+)\*\*", section.replace("\n", " ")) == first


def test_the_shares_follow_from_the_figures(plan: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worked by hand: calls of 64 environments at 1,000 a CPU second, requests of 0.2 ms, actors of 100 MB."""
    figures = {"driver, calls a CPU s": "1,000", "actor, MB PSS": "100", "actors, µs a step": "50"}
    figures["ms of CPU a request"] = "0.2"
    monkeypatch.setattr(plan, "figure", lambda document, table, row, column: figures[column])
    one, every = plan.components().values()
    shares = {item.name: item.share for item in one}
    assert shares["a core of the driver, for calls of actors"] == pytest.approx(5000 / 64 / 1000)
    assert shares["a core of the driver, for requests to the model"] == pytest.approx(5000 * 0.2e-3)
    assert shares["network of the driver, observations alone"] == pytest.approx(5000 * 2000 / 125e6)
    assert shares["a core of a machine, for steps"] == pytest.approx(50 * 50e-6)
    assert shares["memory of a machine"] == pytest.approx((510 + 2 * 100) / 4000)
    memory = next(item for item in one if item.unit == "MB")
    assert memory.most == pytest.approx(10_000 * 3490 / 200)
    assert every[0].share == pytest.approx(50 * 0.2e-3)
    assert every[0].most == pytest.approx(1_000_000)
