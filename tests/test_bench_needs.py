"""``gem bench --needs``: what it says of many environments is what many environments take."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gem.env_spec import EnvSpec
from gem.registry import spec
from gem_rollout.cli.bench import bench_command
from gem_rollout.needs import MeasuredNeeds, NeedsError, measure_needs, needs_of

ID = "game:GuessTheNumber-v0-easy"
MANY = 8192

MAKE_MANY = f"""
import gem
envs = [gem.make({ID!r}) for _ in range({MANY})]
for seed, env in enumerate(envs):
    env.reset(seed=seed)
lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(lines["VmRSS"].split()[0]) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_the_memory_of_many_is_foreseen_from_fewer() -> None:
    """Within a third of what a process with eight times as many environments has."""
    measured = measure_needs(spec(ID))
    assert measured.count == 1024
    taken = int(subprocess.run([sys.executable, "-c", MAKE_MANY], capture_output=True, check=True).stdout)
    assert needs_of(measured, MANY).memory_bytes == pytest.approx(taken, rel=1 / 3)


def test_needs_grow_in_proportion() -> None:
    """Memory beside that of the process, CPU to begin, and CPU of a step of each."""
    needs = needs_of(MeasuredNeeds("x", 100, 1000, 10.0, 0.5, 0.25), 65_536)
    assert (needs.memory_bytes, needs.start_cpu_seconds) == (1000 + 655_360, 32_768)
    assert (needs.round_cpu_seconds, needs.steps_per_cpu_second, needs.measured_over) == (16_384, 4, 100)


def test_the_command_shows_the_needs_of_each_number() -> None:
    """As JSON, and as a table that says over how many it was measured."""
    asked = [ID, "--seconds", "0.01", "--needs", "10", "--needs", "65536"]
    (figures,) = json.loads(CliRunner().invoke(bench_command, [*asked, "--json"]).output)
    assert [item["num_envs"] for item in figures["needs"]] == [10, 65_536]
    assert all(value > 0 for item in figures["needs"] for value in item.values())
    assert "65,536" in CliRunner().invoke(bench_command, asked).output


def test_an_environment_that_cannot_be_played_is_named() -> None:
    """With what it raised, in a sentence."""
    with pytest.raises(NeedsError, match=r"broken:X-v0: its needs cannot be measured: .*no_such_module"):
        measure_needs(EnvSpec("broken:X-v0", "no_such_module:Env"))
