"""MCP servers become worlds: what recording finds out, what is refused, and how tasks are played."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from foreign_descriptions import kanban_server, memory_server
from made_packages import check_installed, written

from gem.errors import GemError
from gem_envs_desk.checks import check_task
from gem_envs_desk.reference import DeskPolicy
from gem_envs_desk.synthesis.errors import DescriptionError
from gem_envs_desk.synthesis.server_config import one_server
from gem_envs_desk.synthesis.server_drafting import server_tasks
from gem_envs_desk.synthesis.server_env import ServerEnv
from gem_envs_desk.synthesis.server_profile import state_tables
from gem_envs_desk.synthesis.server_recording import RecordedServer, recorded_server
from gem_envs_desk.synthesis.server_world import LiveServer, ServerDomain

pytest.importorskip("gem_tools", reason="gem-envs-desk[synthesis] brings it")

SERVER = Path(__file__).with_name("notes_server.py")
END = '<tool_call>{"name": "end_conversation", "arguments": {}}</tool_call>'


def config(**environment: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", "-E", str(SERVER)], "env": environment}


@pytest.fixture(scope="module")
def recorded() -> RecordedServer:
    return recorded_server("notes", config(), seed=0, rounds=12)


def test_calls_show_what_tools_do(recorded: RecordedServer) -> None:
    """Tools that change the state are found, with the source of each value; the others are refused by name."""
    assert recorded.profile.state_tools == ("list_notes",)
    assert recorded.writes == ("add_note", "retitle_note", "delete_note")
    reason = 'no call of it changed what the reading tools show; its last answer was: "ding"'
    assert recorded.profile.refused == {"ring_bell": reason}
    assert "new" in recorded.learned["add_note", "title"]
    assert "new" not in recorded.learned["delete_note", "title"]
    assert "notes.title" in recorded.learned["delete_note", "title"]


def test_an_error_of_the_protocol_is_a_refusal_of_one_call() -> None:
    """The agent reads what the server said, and the server goes on."""
    server = LiveServer("notes", config())
    try:
        refused = server.call("sing", {})
        assert (refused.ok, refused.text) == (False, "there is no tool sing")
        assert server.call("list_notes", {}).ok
    finally:
        server.close()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"NOTES": "file", "NOTES_FILE": "{folder}/notes.json"}, "does not begin with the state of the first one"),
        ({"NOTES": "hidden"}, "no tool of the MCP server notes shows its state"),
        ({"NOTES": "blind"}, "no tool of the MCP server notes changes what its reading tools show"),
    ],
)
def test_servers_without_a_state_to_compare_are_refused(
    environment: Mapping[str, str], reason: str, tmp_path: Path
) -> None:
    """A server that remembers other episodes, and one whose state cannot be read, are refused with that reason."""
    filled = {name: value.format(folder=tmp_path) for name, value in environment.items()}
    with pytest.raises(DescriptionError, match=reason):
        recorded_server("notes", config(**filled), seed=0, rounds=3)


def test_a_file_in_the_folder_of_the_episode_is_its_own(tmp_path: Path) -> None:
    """With ``${episode.dir}`` the same server is accepted, and no folder is left behind."""
    own = config(NOTES="file", NOTES_FILE="${episode.dir}/notes.json")
    assert recorded_server("notes", own, seed=0, rounds=4).writes[0] == "add_note"


@pytest.fixture(scope="module")
def tickets() -> RecordedServer:
    return recorded_server("tickets", config(NOTES="tickets"), seed=0)


def test_numbers_and_listed_words_are_tried(tickets: RecordedServer) -> None:
    """A number comes from the records, a word from a description, and what is optional is given at times."""
    assert tickets.writes == ("ticket_new", "ticket_close")
    assert set(tickets.learned["ticket_new", "sort"]) - {"tickets.sort"} == {"=question", "=fault", "=wish"}
    assert set(tickets.learned["ticket_close", "ticket_id"]) == {"tickets.id"}
    assert ("ticket_new", "urgency") in tickets.learned


def test_fields_that_differ_at_each_start_do_not_count(tickets: RecordedServer) -> None:
    """Times and random keys are left out; a tool that takes such a key, or breaks the server, is refused so."""
    assert {"created_at", "closed_at", "seal"} <= set(tickets.profile.unstable)
    assert not {"id", "subject", "open"} & set(tickets.profile.unstable)
    assert tickets.profile.state_tools == ("ticket_list",)
    assert set(tickets.profile.refused) == {"ticket_seal", "ticket_lose"}
    assert "argument seal takes a value that differs at each start" in tickets.profile.refused["ticket_seal"]
    assert "the reading tools show nothing" in tickets.profile.refused["ticket_lose"]


def test_answers_repeat_at_each_start(tickets: RecordedServer) -> None:
    """Two servers give the same answers to the same calls, without times, random keys and the folder."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ticket_new", {"subject": "a", "sort": "wish"}),
        ("ticket_close", {"ticket_id": 1}),
        ("ticket_list", {}),
    ]
    answers = []
    for _ in range(2):
        world = ServerDomain(tickets.profile).open({"setup": []})
        try:
            answers.append([world.call(*call).text for call in calls])
        finally:
            world.close()
    assert answers[0] == answers[1]
    assert json.loads(answers[0][2]) == {
        "tickets": [{"id": 1, "subject": "a", "sort": "wish", "urgency": None, "open": False}],
        "place": "/episode",
    }


@pytest.mark.parametrize("name", ["recorded", pytest.param("tickets", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("count", [2, pytest.param(12, marks=pytest.mark.nightly)])
def test_tasks_on_a_server_are_sound_and_can_be_won(name: str, count: int, request: pytest.FixtureRequest) -> None:
    """Each made task passes the checks on servers of its own; the reference earns 1.0, ending at once 0.0."""
    recorded: RecordedServer = request.getfixturevalue(name)
    made = server_tasks(recorded, count, seed=0)
    domain = ServerDomain(recorded.profile, made.tasks)
    tasks = list(made.tasks.all())
    assert len(tasks) == count
    assert [fault for _, _, task in tasks for fault in check_task(domain, task)] == []

    class Env(ServerEnv):
        folder = Path()

    Env.domain = domain  # type: ignore[assignment]
    with Env() as env:
        observation, info = env.reset(seed=0, options={"task": 0})
        policy = DeskPolicy(env)
        policy.reset(observation, info)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total, over = total + reward, terminated or truncated
        assert total == 1.0
        env.reset(seed=0, options={"task": 0})
        assert env.step(END)[1] == 0.0


def test_worlds_do_not_see_each_other(recorded: RecordedServer) -> None:
    """Two worlds at once have servers and states of their own, which end when they are closed."""
    one, other = (ServerDomain(recorded.profile).open({"setup": []}) for _ in range(2))
    try:
        assert one.call("add_note", {"title": "a", "text": "b"}).ok
        assert one.dump() != other.dump()
        assert other.state() == {"list_notes": {"notes": []}}
    finally:
        one.close()
        other.close()


def test_remembered_calls_start_no_server(recorded: RecordedServer) -> None:
    """A domain that remembers answers a known sequence of calls itself, and asks a server for any other."""
    domain = ServerDomain(recorded.profile, remembers=True)
    call = ("add_note", {"title": "a", "text": "b"})
    worlds = [domain.open({"setup": []}) for _ in range(2)]
    try:
        assert [world.call(*call).text for world in worlds] == ['"added"', '"added"']
        assert worlds[0].dump() == worlds[1].dump()
        assert worlds[1]._live is None
        assert not worlds[1].call(*call).ok
        assert worlds[1]._live is not None
    finally:
        for world in worlds:
            world.close()


def test_the_order_of_lists_is_no_difference() -> None:
    """States are equal whatever the order of records, and different if a record is there twice."""
    one = {"t": {"notes": [{"a": 1}, {"b": [2, 1]}]}}
    assert state_tables(one) == state_tables({"t": {"notes": [{"b": [1, 2]}, {"a": 1}]}})
    assert state_tables(one) != state_tables({"t": {"notes": [{"a": 1}, {"a": 1}, {"b": [2, 1]}]}})


@pytest.mark.parametrize(
    ("source", "content", "message"),
    [
        ("https://example.org/mcp", None, "runs already; give its command"),
        ("a.json", {"mcpServers": {"x": {"url": "https://example.org/mcp"}}}, "x has a url; give its command"),
        ("a.json", {"mcpServers": {"x": {"command": "x"}, "y": {"command": "y"}}}, "has 2 servers, x, y"),
        ("a.json", {"mcpServers": {"x": {"command": ["x"]}}}, "command must be a str"),
        ("a.json", {"mcpServers": {"x": 7}}, "must be an object with its command"),
        ("a.json", [], "has no mcpServers"),
        ("", None, "needs the command line of a server"),
        ("'unclosed", None, "cannot be parsed"),
    ],
)
def test_a_configuration_that_names_no_server_is_refused(
    source: str, content: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says which server is missing, or why this one cannot be started for each episode."""
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(source).write_text(json.dumps(content))
    with pytest.raises(DescriptionError, match=message):
        one_server(source)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx -y @modelcontextprotocol/server-memory@2026.8.31", "server-memory"),
        ("uvx --with 'mcp<2' mcp-server-sqlite --db-path ${episode.dir}/x.db", "mcp-server-sqlite"),
        ("/opt/bin/kanban-mcp --verbose on", "kanban-mcp"),
        ("python3 -m todo.server", "todo.server"),
        ("uv run --directory /srv server.py", "server.py"),
        ("uvx", "uvx"),
    ],
)
def test_a_command_line_names_its_server(command: str, name: str) -> None:
    """The name is that of the program, or of the package that a launcher starts, without version and options."""
    assert one_server(command)[0] == name


def test_a_server_starts_alike_in_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of its command is named from the root, since it starts elsewhere; a program is looked up."""
    monkeypatch.chdir(tmp_path)
    Path("server.py").touch()
    Path("python3").touch()
    _, found = one_server("python3 server.py --file server.txt")
    assert found["command"] == "python3"
    assert found["args"] == [str(tmp_path / "server.py"), "--file", "server.txt"]


def test_a_program_that_is_no_server_is_an_error(tmp_path: Path) -> None:
    """The command says so in one sentence, and writes nothing."""
    with pytest.raises(GemError, match="there is no program 'no-such-server'"):
        written(tmp_path / "my-desk", "mcp:no-such-server --flag")
    assert not (tmp_path / "my-desk").exists()


def _memory() -> dict[str, Any]:
    return {"command": str(memory_server()), "env": {"MEMORY_FILE_PATH": "${episode.dir}/memory.jsonl"}}


def _kanban() -> dict[str, Any]:
    own = dict.fromkeys(("HOME", "TMPDIR"), "${episode.dir}")
    return {"command": str(kanban_server()), "env": {**own, "KANBAN_PROJECT_DIR": "/board"}}


@pytest.mark.nightly
@pytest.mark.timeout(3600)  # some 250 starts of the server, on a machine with other work
@pytest.mark.parametrize(("name", "server"), [("memory", _memory), ("kanban", _kanban)])
def test_a_published_server_becomes_a_package(name: str, server: Callable[[], dict[str, Any]], tmp_path: Path) -> None:
    """50 verified tasks from servers of npm and PyPI; the package passes its own tests and gem check."""
    source = tmp_path / f"{name}.json"
    source.write_text(json.dumps({"mcpServers": {name: server()}}))
    report = written(tmp_path / f"{name}-desk", f"mcp:{source}", "--tasks", "50")
    assert report["summary"][0].startswith("50 tasks passed the checks")
    check_installed(tmp_path / f"{name}-desk", tmp_path)
