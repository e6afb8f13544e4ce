"""Task folders in every format: what is read from them, and what is refused with which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_terminal import load_task, load_tasks
from gem_terminal.errors import TaskError
from gem_terminal.formats.terminal_bench import steps_of
from gem_terminal.task import Artifact, CollectCommand, Healthcheck, ResourceLimits

HARBOR = """
version = "1.0"
[metadata]
difficulty = "hard"
[agent]
timeout_sec = 900.0
[verifier]
timeout_sec = 120.0
env = { KEY = "${GEM_TEST_KEY:-none}" }
[environment]
memory = "2G"
storage = "10G"
cpus = 2
allow_internet = true
"""
BENCH = """
instruction: |-
  Say hello in hello.txt.
author_name: Somebody
difficulty: easy
tags: [files]
parser_name: pytest
max_agent_timeout_sec: 300.0
"""


def harbor(folder: Path, toml: str = HARBOR) -> Path:
    """Write a task of Harbor."""
    for name, content in {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": "FROM debian:bookworm-slim\n",
        "tests/test.sh": "#!/bin/bash\n",
        "solution/solve.sh": "#!/bin/bash\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def bench(folder: Path, yaml: str = BENCH) -> Path:
    """Write a task of Terminal-Bench 1."""
    for name, content in {
        "task.yaml": yaml,
        "Dockerfile": "FROM debian:bookworm-slim\n",
        "run-tests.sh": "#!/bin/bash\n",
        "solution.sh": "#!/bin/bash\n",
        "tests/test_outputs.py": "",
        "docker-compose.yaml": "services:\n  client:\n    build: {dockerfile: Dockerfile}\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_a_harbor_task_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes, times, network, environment and metadata come from task.toml, old keys included."""
    monkeypatch.setenv("GEM_TEST_KEY", "42")
    task = load_task(harbor(tmp_path / "mine"))
    assert (task.name, task.format, task.instruction) == ("mine", "harbor", "Do it.")
    assert (task.limits.memory, task.limits.disk, task.limits.cpus, task.limits.network) == (
        2 << 30,
        10 << 30,
        2.0,
        True,
    )
    assert (task.seconds, task.tests.seconds, task.tests.environment) == (900.0, 120.0, {"KEY": "42"})
    assert task.metadata["difficulty"] == "hard"
    assert task.solution == tmp_path / "mine" / "solution" / "solve.sh"


def test_a_newer_harbor_task_is_read(tmp_path: Path) -> None:
    """Version 1.4: a name with its organisation, users, network mode, working directory; unknown keys are let be."""
    toml = """
schema_version = "1.4"
[task]
name = "org/rename"
keywords = ["files"]
[agent]
user = "agent"
network_mode = "no-network"
[environment]
memory_mb = 512
workdir = "/app"
something_new = true
"""
    task = load_task(harbor(tmp_path / "folder", toml))
    assert (task.name, task.user, task.workdir) == ("rename", "agent", "/app")
    assert (task.limits.memory, task.limits.network) == (512 << 20, False)


@pytest.mark.parametrize(
    ("version", "disk"),
    [
        *[
            (f'{key} = "{number}"', 10 << 30)
            for key in ("version", "schema_version")
            for number in ("1.0", "1.1", "1.2")
        ],
        ("version = 1.0", 10 << 30),
        ('schema_version = "1.3"', None),
        ('schema_version = "1.4"', None),
        ('version = "2026-11-01"', None),
        ("", None),
    ],
)
def test_a_disk_that_nobody_stated_is_that_of_the_version(version: str, disk: int | None, tmp_path: Path) -> None:
    """10,240 MiB up to schema 1.2, as Harbor gave then, also for a separate verifier; later the engine's default."""
    toml = f"{version}\n[verifier]\nenvironment_mode = 'separate'\n[environment]\ncpus = 1\n"
    task = load_task(harbor(tmp_path / "old", toml))
    assert task.tests.separate is not None
    assert (task.limits.disk, task.tests.separate.limits.disk) == (disk, disk)
    stated = load_task(harbor(tmp_path / "stated", f"{toml}storage_mb = 64\n"))
    assert stated.limits.disk == 64 << 20


def test_a_canary_is_no_part_of_the_instruction(tmp_path: Path) -> None:
    """The comment that marks a benchmark's files is left out."""
    folder = harbor(tmp_path / "task")
    marks = "<!-- BENCHMARK DATA canary GUID 1-2-3 -->\n# harbor-canary GUID 4\n\n"
    (folder / "instruction.md").write_text(f"{marks}# Be a canary\nDo it well.\n")
    assert load_task(folder).instruction == "# Be a canary\nDo it well."


def test_a_task_of_terminal_bench_1_is_read(tmp_path: Path) -> None:
    """task.yaml, its tests in one flat folder, and pytest's summary as the reward."""
    task = load_task(bench(tmp_path / "hello"))
    assert (task.name, task.format, task.seconds) == ("hello", "terminal-bench", 300.0)
    assert [source.name for source in task.tests.sources] == ["run-tests.sh", "tests"]
    assert task.tests.reward == "pytest"
    assert task.metadata["tags"] == ["files"]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("[environment]\nos = 'windows'", "Windows"),
        ("[environment]\ngpus = 1", "GPU"),
        (
            "[agent]\nnetwork_mode = 'no-network'\n[verifier]\nnetwork_mode = 'public'",
            "'no-network'.*'public'.*separate",
        ),
        ("[agent]\nnetwork_mode = 'no-network'\n[environment]\nallow_internet = true", "one container"),
        ("[environment]\nnetwork_mode = 'public'\n[verifier]\nnetwork_mode = 'no-network'", "'public'.*'no-network'"),
        ("[environment]\nmcp_servers = [{name = 'x', command = 'y'}]", "the transport sse needs a url"),
        ("[environment]\nmcp_servers = [{name = 'x', transport = 'stdio', url = 'y'}]", "needs a command"),
        ("[environment]\ntpu = {type = 'v4', topology = '2x2'}", "TPU"),
        ("[verifier.environment]\nos = 'Windows'", "Windows"),
        ("[verifier]\nenvironment_mode = 'shared'\n[verifier.environment]\ncpus = 1", "'shared'"),
        ("artifacts = [{source = '/x', service = 'db'}]\n[verifier]\nenvironment_mode = 'separate'", "service"),
        ("[[verifier.collect]]\ncommand = 'x'\nservice = 'db'", "service"),
        ("artifacts = ['/app/../etc']\n[verifier]\nenvironment_mode = 'separate'", "must be a file or folder"),
        ("artifacts = ['/']\n[verifier]\nenvironment_mode = 'separate'", "must be a file or folder"),
        ("artifacts = ['relative']\n[verifier]\nenvironment_mode = 'separate'", "workdir"),
        ("[environment.healthcheck]\nretries = 3", "command"),
        ("[environment.healthcheck]\ncommand = 'x'\nretries = 0", "retries"),
        ("[agent]\ntimeout_sec = inf", "agent.timeout_sec"),
        ("[environment]\nmemory_mb = -1", "environment.memory_mb"),
        ("[environment]\nmemory = 'lots'", "environment.memory"),
        ("[agent]\ntimeout_sec = 'soon'", "agent.timeout_sec"),
        ("[verifier]\nenv = { KEY = '${GEM_TEST_UNSET}' }", "GEM_TEST_UNSET"),
        ("= broken", "no TOML"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tmp_path: Path, section: str, words: str) -> None:
    """A task that needs more than there is, or is malformed, is an error that names the file and the reason."""
    with pytest.raises(TaskError, match=words) as caught:
        load_task(harbor(tmp_path / "task", section))
    assert "task.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("section", "network"),
    [
        ("[agent]\nnetwork_mode = 'public'", True),
        ("[agent]\nnetwork_mode = 'public'\n[verifier]\nnetwork_mode = 'public'", True),
        (
            "[environment]\nnetwork_mode = 'public'\n[agent]\nnetwork_mode = 'no-network'\n"
            "[verifier]\nnetwork_mode = 'no-network'",
            False,
        ),
        (
            "[agent]\nnetwork_mode = 'no-network'\n[verifier]\nnetwork_mode = 'public'\nenvironment_mode = 'separate'",
            False,
        ),
    ],
)
def test_agent_and_verifier_agree_on_the_network_or_have_a_container_each(
    tmp_path: Path, section: str, network: bool
) -> None:
    """A verifier that says nothing has what the agent has."""
    assert load_task(harbor(tmp_path / "task", section)).limits.network is network


def test_a_verifier_of_its_own_is_read(tmp_path: Path) -> None:
    """Its image, limits, network and environment are its own; artifacts and what collects them come with it."""
    toml = """
artifacts = ["/app/out", { source = "/app/log", destination = "log", exclude = ["*.pyc"] }, "here"]
[verifier]
environment_mode = "separate"
user = 1000
[[verifier.collect]]
command = "dump"
timeout_sec = 5
user = "db"
[verifier.environment]
docker_image = "verifier:1"
memory_mb = 512
network_mode = "public"
env = { KEY = "value" }
workdir = "/v"
[agent]
network_mode = "no-network"
[environment]
workdir = "/desk"
"""
    task = load_task(harbor(tmp_path / "task", toml))
    place = task.tests.separate
    assert place is not None
    assert (place.image.name, place.image.folder, place.workdir) == ("verifier:1", None, "/v")
    assert (place.limits.memory, place.limits.network, dict(place.environment)) == (512 << 20, True, {"KEY": "value"})
    assert task.limits.network is False
    assert place.artifacts == (
        Artifact("/app/out"), Artifact("/app/log", exclude=("*.pyc",)), Artifact("/desk/here")
    )  # fmt: skip
    assert place.collect == (CollectCommand("dump", 5.0, "db"),)
    assert (task.tests.sources, task.tests.user) == ((), "1000")


def test_the_image_of_a_verifier_is_found_as_harbor_does(tmp_path: Path) -> None:
    """A Dockerfile among the tests brings them; without one they are copied into a fresh container of the agent's."""
    separate = "[verifier]\nenvironment_mode = 'separate'"
    folder = harbor(tmp_path / "own", separate)
    (folder / "tests" / "Dockerfile").write_text("FROM debian:bookworm-slim\n")
    (folder / "tests" / "test.sh").unlink()
    tests = load_task(folder).tests
    assert tests.separate is not None
    assert (tests.separate.image.folder, tests.sources) == (folder / "tests", ())
    other = harbor(tmp_path / "fresh", separate)
    tests = load_task(other).tests
    assert tests.separate is not None
    assert (tests.separate.image.folder, tests.sources) == (other / "environment", (other / "tests",))
    implied = load_task(harbor(tmp_path / "implied", "[verifier.environment]\ncpus = 2")).tests.separate
    assert implied is not None
    assert implied.limits.cpus == 2.0
    assert load_task(harbor(tmp_path / "shared", "")).tests.separate is None


def test_a_health_check_is_read(tmp_path: Path) -> None:
    """What it does not say is as in Harbor."""
    toml = "[environment.healthcheck]\ncommand = 'ready'\nstart_period_sec = 3\nretries = 5"
    expected = Healthcheck("ready", interval=5.0, seconds=30.0, start_period=3.0, start_interval=5.0, retries=5)
    assert load_task(harbor(tmp_path / "task", toml)).healthcheck == expected


def test_a_compose_file_of_one_service_is_read(tmp_path: Path) -> None:
    """As Terminal-Bench 1 has it; the harness's own variables are left out, and the rest is kept."""
    folder = bench(tmp_path / "task")
    (folder / "docker-compose.yaml").write_text(
        "services:\n  client:\n    build:\n      dockerfile: Dockerfile\n"
        "    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}\n"
        "    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}\n"
        '    command: ["sh", "-c", "sleep infinity"]\n'
        "    environment:\n      - TEST_DIR=${T_BENCH_TEST_DIR}\n      - MODE=quick\n"
        "    volumes:\n      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}\n"
        "    working_dir: /app\n    mem_limit: 1g\n    user: 1000\n"
    )
    task = load_task(folder)
    assert (dict(task.environment), task.workdir, task.user) == ({"MODE": "quick"}, "/app", "1000")
    assert task.limits == ResourceLimits(memory=1 << 30, disk=32 << 30, network=True)
    assert (task.image.folder, task.image.dockerfile) == (folder, "Dockerfile")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("parser_name: swebench", "parser_name is 'swebench', but GEM supports only pytest"),
        ("run_tests_in_same_shell: true", "run_tests_in_same_shell"),
        ("max_agent_timeout_sec: soon", "max_agent_timeout_sec"),
        ("difficulty: heroic", "difficulty"),
        ("tags: files", "tags"),
        ("instruction: ''", "instruction"),
        ("added: 2025-13-45", "cannot be read"),
        ("x: !!bool maybe", "cannot be read"),
        ("x: !!python/object:os.system {}", "cannot be read"),
        ("x: " + "[" * 5000, "cannot be read"),
    ],
)
def test_what_the_older_format_has_and_is_not_supported_is_refused(tmp_path: Path, line: str, words: str) -> None:
    """The message names task.yaml and what is wrong in it."""
    key = line.partition(":")[0]
    kept = "\n".join(each for each in BENCH.split("\n") if not each.startswith(key) or key == "instruction")
    with pytest.raises(TaskError, match=words) as caught:
        load_task(bench(tmp_path / "task", f"{kept}\n{line}\n"))
    assert "task.yaml" in str(caught.value)


@pytest.mark.parametrize(
    "service", ["privileged: true", "cap_add: [SYS_ADMIN]", "devices: ['/dev/kvm']", "cpus: none", "environment: 7"]
)
def test_a_service_that_needs_more_is_refused(tmp_path: Path, service: str) -> None:
    """No container has privileges here, and a task that needs them could not be done."""
    folder = bench(tmp_path / "task")
    (folder / "docker-compose.yaml").write_text(f"services:\n  client:\n    {service}\n")
    with pytest.raises(TaskError, match=rf"docker-compose\.yaml: .*{service.partition(':')[0]}"):
        load_task(folder)


def test_a_solution_of_commands_is_read(tmp_path: Path) -> None:
    """Terminal-Bench 1 lets a solution be a list of what is typed."""
    folder = bench(tmp_path / "task")
    (folder / "solution.sh").unlink()
    (folder / "solution.yaml").write_text("- command: echo hi\n  block: true\n- command: q\n  append_enter: false\n")
    solution = load_task(folder).solution
    assert solution == folder / "solution.yaml"
    assert [(step.command, step.block, step.append_enter) for step in steps_of(solution)] == [
        ("echo hi", True, True),
        ("q", False, False),
    ]
    solution.write_text("command: echo\n")
    with pytest.raises(TaskError, match=r"solution\.yaml"):
        steps_of(solution)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.sampled_from(["2G", "separate", "shared", "public", "no-network", "linux", "/app", "main", "", "${X}", "\0"])
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=2),
    max_leaves=5,
)


def table(*keys: str, **tables: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return tables in which any of these keys has any value."""
    return st.fixed_dictionaries({}, optional={**dict.fromkeys(keys, VALUES), **tables})


PLACE = table(
    "build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "memory", "storage_mb", "storage", "gpus", "tpu",
    "mcp_servers", "env", "workdir", "network_mode", "allow_internet", "skills_dir",
    healthcheck=VALUES | table("interval_sec", "retries", command=st.just("true")),
)  # fmt: skip
ENTRY = VALUES | st.fixed_dictionaries({"source": st.just("/app") | st.text()}, optional={"exclude": VALUES})
HARBOR_FILE = table(
    "schema_version", "version", "source", "metadata", "steps", "solution", "unknown",
    artifacts=VALUES | st.lists(ENTRY, max_size=2),
    task=table("name", "version", "description", "authors", "keywords"),
    agent=table("timeout_sec", "user", "network_mode"),
    environment=VALUES | PLACE,
    verifier=table("timeout_sec", "env", "user", "environment_mode", "collect", "network_mode", environment=PLACE),
)  # fmt: skip
BENCH_FILE = table(
    "difficulty", "category", "tags", "author_name", "author_email", "parser_name", "max_agent_timeout_sec",
    "max_test_timeout_sec", "run_tests_in_same_shell", "unknown", instruction=st.just("Do it.") | VALUES,
)  # fmt: skip


def in_toml(value: Any) -> str:
    """Write a value in TOML, which has no null."""
    if isinstance(value, dict):
        pairs = (f"{in_toml(key)} = {in_toml(item)}" for key, item in value.items() if item is not None)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(in_toml(item) for item in value if item is not None)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=HARBOR_FILE)
def test_any_task_toml_is_a_task_or_an_error_that_names_it(tmp_path: Path, content: dict[str, Any]) -> None:
    """Whatever its keys hold."""
    lines = (f"{key} = {in_toml(value)}" for key, value in content.items() if value is not None)
    _loads_or_names(harbor(tmp_path / "task", "\n".join(lines)), "task.toml")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=BENCH_FILE, service=VALUES | table("build", "image", "environment", "user", "mem_limit", "cpus"))
def test_any_task_yaml_is_a_task_or_an_error_that_names_it(
    tmp_path: Path, content: dict[str, Any], service: Any
) -> None:
    """Whatever its keys hold, and those of the compose file; JSON is YAML."""
    folder = bench(tmp_path / "task", json.dumps(content))
    (folder / "docker-compose.yaml").write_text(json.dumps({"services": {"client": service}}))
    _loads_or_names(folder, str(folder))


def _loads_or_names(folder: Path, name: str) -> None:
    refusal = ""
    try:
        task = load_task(folder)
    except TaskError as error:
        refusal = str(error)
    else:
        assert task.instruction == "Do it."
        assert task.limits.memory > 0
        assert task.limits.cpus > 0
    assert not refusal or name in refusal
    assert len(refusal) < 1000


def test_the_agent_has_a_service(tmp_path: Path) -> None:
    """Of several services in the older format, one is the agent's; test_side_cars tests what they may say."""
    folder = bench(tmp_path / "bench")
    (folder / "docker-compose.yaml").write_text("services:\n  one: {image: x}\n  two: {image: x}\n")
    with pytest.raises(TaskError, match="no service 'client'"):
        load_task(folder)


@pytest.mark.parametrize("missing", ["instruction.md", "tests/test.sh", "environment/Dockerfile"])
def test_what_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    """A folder without a part that every task has is refused with the part's path."""
    folder = harbor(tmp_path / "task")
    (folder / missing).unlink()
    with pytest.raises(TaskError, match=Path(missing).name):
        load_task(folder)


def test_a_folder_of_tasks_is_read_in_order(tmp_path: Path) -> None:
    """Formats may be mixed; other folders do not count."""
    harbor(tmp_path / "b")
    bench(tmp_path / "a")
    (tmp_path / "notes").mkdir()
    assert [task.name for task in load_tasks(tmp_path)] == ["a", "b"]
    assert [task.name for task in load_tasks(tmp_path / "a")] == ["a"]


def test_tasks_may_lie_in_folders_by_category(tmp_path: Path) -> None:
    """Where the folder itself has tasks, those of deeper folders are material of theirs."""
    harbor(tmp_path / "hard" / "b")
    harbor(tmp_path / "easy" / "a")
    assert [task.name for task in load_tasks(tmp_path)] == ["a", "b"]
    harbor(tmp_path / "c")
    assert [task.name for task in load_tasks(tmp_path)] == ["c"]


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    """No folder, and no task in it, are two clear errors."""
    with pytest.raises(ArgumentError, match=r"task\.toml or task\.yaml"):
        load_tasks(tmp_path)
    with pytest.raises(ArgumentError, match="nothing-here"):
        load_tasks(tmp_path / "nothing-here")
