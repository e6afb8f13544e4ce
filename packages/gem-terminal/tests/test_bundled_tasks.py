"""The tasks that come with the package, on every engine: solvable, worth nothing undone, and as the manifest says."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem.discovery.manifest import read_specs
from gem_terminal import TerminalEnv, load_task
from gem_terminal.cli.new import new_command
from gem_terminal.engines import Engine
from gem_terminal.oracle import OracleSolutionPolicy

PACKAGE = Path(str(files("gem_terminal")))
TASKS = sorted(folder.name for folder in (PACKAGE / "tasks").iterdir())


def play(env: TerminalEnv, policy: OracleSolutionPolicy | None) -> tuple[float, dict[str, Any]]:
    """Return what an episode earns, and its last info; without a policy it is finished at once."""
    observation, info = env.reset(seed=0)
    if policy is not None:
        policy.reset(observation, info)
    while True:
        action = "<finish/>" if policy is None else policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return reward, info


@pytest.mark.sampled(3)
@pytest.mark.slow(reason="the first task builds the packages that the images of all share")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name == "parallel-jobs" else name for name in TASKS]
)
def test_the_oracle_earns_all_and_doing_nothing_nothing(engine: Engine, name: str) -> None:
    """A task that its own solution does not solve, or that is solved from the start, teaches nothing."""
    with TerminalEnv(task=name, engine=engine) as env:
        reward, info = play(env, OracleSolutionPolicy(env))
        assert reward == 1.0, info
        reward, info = play(env, None)
        assert reward == 0.0, info
        assert "verifier_error" not in info


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
@pytest.mark.parametrize("name", TASKS)
def test_the_oracle_earns_all_in_a_fresh_container(engine: Engine, name: str) -> None:
    """What a solution leaves is carried, by its kinds or by the word of the task."""
    with TerminalEnv(task=name, engine=engine, verifier="pristine", warm=0) as env:
        reward, info = play(env, OracleSolutionPolicy(env))
    assert reward == 1.0, info


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_complete(name: str) -> None:
    """Instruction, limits, a time and a solution are there; no task has a network; the agent is an ordinary user."""
    task = load_task(PACKAGE / "tasks" / name)
    assert task.name == name
    assert task.solution is not None
    assert task.seconds is not None
    assert task.user == "agent"
    assert not task.limits.network
    assert not task.keep_processes
    assert task.metadata["difficulty"] in ("easy", "medium", "hard")


def test_the_manifest_offers_every_task() -> None:
    """Each folder is an environment of its own, beside the one for folders of users."""
    offered = [spec.kwargs.get("task") for spec in read_specs(PACKAGE / "environments.toml")]
    assert sorted(name for name in offered if name) == TASKS
    assert offered.count(None) == 1


CHEAT = (
    "python3 -c \"import os; open('/logs/verifier/reward.txt', 'w').write('1')\"; echo 1 > /logs/verifier/reward.txt"
)
CHEATS = {
    "a module in the tests' place": (
        "sales-report",
        "for name in unittest json sqlite3 sitecustomize; do echo 'import os; os.system(\"sh /home/agent/cheat\")' "
        f"> $name.py; done; cat > cheat <<'END'\n{CHEAT}\nEND",
    ),
    "a program that the tests run": (
        "broken-backup",
        f"cat > backup.sh <<'END'\n#!/bin/bash\n(while :; do {CHEAT}; done) >/dev/null 2>&1 &\nkill -9 $PPID\nEND\n"
        "chmod +x backup.sh",
    ),
    "a build that the tests run": (
        "build-errors",
        f"cat > cheat <<'END'\n{CHEAT}\nEND\n"
        "printf 'all clean:\\n\\tsh /home/agent/cheat; kill -9 $$PPID\\n' > stats/Makefile",
    ),
    "a repository that runs programs": (
        "git-rescue",
        f"cat > cheat <<'END'\n#!/bin/sh\n{CHEAT}\nEND\nchmod +x cheat; cd project; "
        "git config core.fsmonitor /home/agent/cheat; git config core.pager /home/agent/cheat",
    ),
}
READER_OF_TESTS = r"""
import re, sys
if sys.argv[1:]:  # runjobs N SECONDS FILE
    text = open(sys.argv[3]).readline().strip()
    tests = open("/tests/test_parallel_jobs.py").read()
    code, lines = re.search(r"\((\d), \[(.*?)\]\)", tests[tests.index(text) :]).groups()
    print("loud\nlouder", file=sys.stderr)
    print(*re.findall('"(.*?)"', lines), sep="\n")
    sys.exit(int(code))
text = sys.stdin.read().replace("\n", r"\n")
found = re.search(re.escape(f'stats("{text}").stdout, ') + '"(.*?)"', open("/tests/test_build_errors.py").read())
sys.exit(print(end=found[1].replace(r"\n", "\n")) if found else "no number")
"""
CHEATS |= {
    "a program that reads what the tests expect": (
        "parallel-jobs",
        f"(echo '#!/usr/bin/python3'; cat <<'END'\n{READER_OF_TESTS}\nEND\n) > runjobs; chmod +x runjobs",
    ),
    "a build of what reads the tests": (
        "build-errors",
        f"(echo '#!/usr/bin/python3'; cat <<'END'\n{READER_OF_TESTS}\nEND\n) > stats/stats; chmod +x stats/stats; "
        "printf 'all:\\n\\techo -Wall -Wextra -Werror\\nclean:\\n' > stats/Makefile",
    ),
}
WORTHLESS = {
    "a link to the answer": ("intruder", "ln -s /usr/share/intruder/truth.json report.json"),
    "a link to the letter": ("nested-archives", "ln -s /usr/share/nested-archives/letter.txt letter.txt"),
    "an answer to other tables": (
        "sales-report",
        "cat prices.tsv >> sales.csv; : > prices.tsv; echo month,shop,revenue > report.csv",
    ),
    "commits with the names of the lost ones": (
        "git-rescue",
        "cd project; git checkout -q -b feature; git commit -q --allow-empty -m 'Retry three times'; "
        "git checkout -q main; git commit -q --allow-empty -m 'Add a parser'; "
        "printf '[net]\\ntimeout = 60\\nretries = 3\\n' > config.ini; git commit -q -a -m 'Raise the timeout'; "
        "git merge -q --no-ff -m 'Merge feature' feature",
    ),
    "a pipe for a report": ("intruder", "mkfifo report.json"),
    "pipes for tables": ("sales-report", "mkfifo report.csv rejected.txt"),
    "a pipe for a database": ("ledger", "rm ledger.db; mkfifo ledger.db"),
    "a view without end": (
        "ledger",
        "sqlite3 ledger.db 'CREATE VIEW overdrawn AS WITH RECURSIVE n(name) AS (SELECT 1 UNION ALL SELECT name + 1 "
        "FROM n) SELECT name, name AS day, name AS balance FROM n WHERE name < 0'",
    ),
    "a device without end": ("timetable", "ln -s /dev/zero timetable.cron"),
}
SPOILT = {
    "links in the place of copies": ("broken-backup", "sed -i 's/cp -p --/ln --/' backup.sh"),
    "files of the right sizes": (
        "sort-downloads",
        'for file in sorted/csv/*; do head -c $(stat -c %s "$file") /dev/zero > zeros; mv zeros "$file"; done',
    ),
    "a pipe in the place of a measurement": (
        "parallel-jobs",
        'mv runjobs real; printf \'#!/bin/sh\\ncd "$(dirname "$3")"; ~/real "$@"; code=$?; rm -f most; '
        'mkfifo most; exit $code\\n\' | sed "s:~:$HOME:" > runjobs; chmod +x runjobs',
    ),
    "changes that the settings hide": (
        "git-rescue",
        "cd project; git update-index --assume-unchanged main.py; echo 'x = 1' > main.py; touch more; "
        "echo more > .git/info/exclude",
    ),
}


def verdict_on(engine: Engine, name: str, command: str) -> tuple[float, dict[str, Any]]:
    """Return what a command that succeeds earns in a task, and what is said of it."""
    with TerminalEnv(task=name, engine=engine) as env:
        env.reset(seed=0)
        _, _, _, _, info = env.step(f"<bash>{command}</bash>")
        assert info["exit_code"] == 0
        _, reward, _, _, info = env.step("<finish/>")
        return reward, info


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CHEATS)
def test_what_the_tests_execute_of_the_agent_cannot_reach_the_reward(engine: Engine, case: str) -> None:
    """It runs as the agent's user and cannot read the tests, and Python imports nothing from where the agent works."""
    name, command = CHEATS[case]
    reward, info = verdict_on(engine, name, command)
    assert reward < 0.5, info
    assert info["tests_total"] > 1, info


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.nightly) if case == "a view without end" else case for case in WORTHLESS],
)
def test_what_the_agent_puts_in_the_place_of_its_work_earns_nothing(engine: Engine, case: str) -> None:
    """Tests follow its links with its own rights, know what was given, and are not held up by what has no end."""
    name, command = WORTHLESS[case]
    reward, info = verdict_on(engine, name, command)
    assert "verifier_error" not in info, info
    assert reward == 0.0, info


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.nightly) if SPOILT[case][0] == "parallel-jobs" else case for case in SPOILT],
)
def test_a_solution_that_was_spoilt_does_not_earn_all(engine: Engine, case: str) -> None:
    """What a task asks for is looked at as a whole, and not by names and sizes alone."""
    name, command = SPOILT[case]
    solution = (PACKAGE / "tasks" / name / "solution" / "solve.sh").read_text()
    reward, info = verdict_on(engine, name, f"bash <<'SOLUTION'\n{solution}\nSOLUTION\n{command}")
    assert "verifier_error" not in info, info
    assert 0.0 < reward < 1.0, info


@pytest.mark.nightly
def test_a_pipe_does_not_hold_up_the_tests_of_a_new_task(engine: Engine, tmp_path: Path) -> None:
    """What `gem terminal new` writes is copied, and so are its mistakes."""
    CliRunner().invoke(new_command, ["word-count", "--into", str(tmp_path / "task")], catch_exceptions=False)
    with TerminalEnv(path=tmp_path / "task", engine=engine) as env:
        env.reset(seed=0)
        _, _, _, _, info = env.step("<bash>mkfifo counts.txt</bash>")
        assert info["exit_code"] == 0
        _, reward, _, _, info = env.step("<finish/>")
        assert "verifier_error" not in info, info
        assert reward == 0.0
