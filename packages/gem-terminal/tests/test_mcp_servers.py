"""MCP servers that a task brings: told to the agent, and called through its container."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.formats import load_task
from gem_terminal.network.container_ports import ContainerPort, connection_command

# A server of the protocol, over stdio, or over HTTP on the port that is its argument. It counts its calls.
SERVER = r"""
use strict; use IO::Socket::INET; $| = 1;
my $calls = 0;
sub answer {
    my ($line) = @_;
    my ($id) = $line =~ /"id"\s*:\s*(\d+)/; my ($method) = $line =~ /"method"\s*:\s*"([^"]+)"/;
    return "" unless defined $id;
    my $result = "{}";
    if ($method eq "initialize") {
        $result = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},' .
            '"serverInfo":{"name":"n","version":"1"}}';
    } elsif ($method eq "tools/list") {
        my $schema = '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}';
        $result = '{"tools":[{"name":"note","description":"Keep a note.","inputSchema":' . $schema . '}]}';
    } elsif ($method eq "tools/call") {
        my ($text) = $line =~ /"text"\s*:\s*"([^"]*)"/; $calls++;
        open(my $file, ">>", "/tmp/notes"); print $file "$text\n"; close $file;
        chomp(my $who = `id -un`);
        $result = '{"content":[{"type":"text","text":"' . "$who $calls $text $ENV{WORD}" . '"}]}';
    }
    return qq({"jsonrpc":"2.0","id":$id,"result":$result});
}
if (!@ARGV) {
    while (my $line = <STDIN>) { print STDERR "noise\n"; my $told = answer($line); print "$told\n" if $told; }
    exit;
}
sleep 1;
my $server = IO::Socket::INET->new(Listen => 8, LocalPort => $ARGV[0], ReuseAddr => 1) or die "port: $!";
while (my $client = $server->accept) {
    my $length = 0; my $first = <$client> // "";
    while (my $head = <$client>) { last if $head =~ /^\r?$/; $length = $1 if $head =~ /^content-length:\s*(\d+)/i }
    my $body = ""; read($client, $body, $length) if $length;
    my $told = $first =~ /^POST/ ? answer($body) : "";
    my $status = $first !~ /^POST/ ? "405 No" : $told ? "200 OK" : "202 Accepted";
    print $client "HTTP/1.1 $status\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " .
        length($told) . "\r\n\r\n$told";
    close $client;
}
"""
STDIO = 'name = "notes"\ntransport = "stdio"\ncommand = "perl"\nargs = ["/server.pl"]\n'
HTTP = 'name = "notes"\ntransport = "http"\nurl = "http://keeper:8000/mcp"\n'
COMPOSE = """
services:
  main: {build: {context: .}}
  keeper: {build: {context: .}, command: [perl, /server.pl, "8000"]}
"""


def write_task(folder: Path, server: str, compose: str = "") -> Path:
    files = {
        "task.toml": "[agent]\nuser = 'nobody'\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n"
        f"env = {{ WORD = 'word' }}\n[[environment.mcp_servers]]\n{server}",
        "instruction.md": "Keep a note.",
        "environment/Dockerfile": "FROM debian:bookworm-slim\nCOPY server.pl /server.pl\n",
        "environment/server.pl": SERVER,
        "tests/test.sh": "#!/bin/bash\necho $(grep -c kept /tmp/notes) > /logs/verifier/reward.txt\n",
    }
    if compose:
        files["environment/docker-compose.yaml"] = compose
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "tests/test.sh").chmod(0o755)
    return folder


def call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": function}]}


@pytest.mark.slow(reason="loads the SDK of MCP")
def test_an_agent_calls_a_program_of_its_container(engine: Engine, tmp_path: Path) -> None:
    """A stdio server runs as the agent, in its container, from call to call; a copy of the episode calls it again."""
    with TerminalEnv(path=write_task(tmp_path / "stdio", STDIO), engine=engine, warm=0) as env:
        told, _ = env.reset()
        assert "- notes: stdio, perl /server.pl" in told
        schema = '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
        assert f"- note: Keep a note.\n  {schema}" in told
        assert [schema["function"]["name"] for schema in env.tool_schemas][-1] == "mcp_call"
        assert env.step(call("mcp_call", tool="note", arguments={"text": "kept"}))[0] == "nobody 1 kept word"
        written = json.dumps({"name": "mcp_call", "arguments": {"tool": "note", "arguments": {"text": "two"}}})
        assert env.step(f"<tool_call>{written}</tool_call>")[0] == "nobody 2 two word"
        assert env.step("<bash>cat /tmp/notes</bash>")[0] == "kept\ntwo\n[exit code 0]"
        refused, *_, info = env.step(call("mcp_call", tool="missing"))
        assert "the tools are: note" in refused
        assert not info["tool_results"][0]["ok"]
        assert "must be an object" in env.step(call("mcp_call", tool="note", arguments=[1]))[0]
        env.set_state({**env.get_state(), "snapshot": None})
        assert env.step(call("mcp_call", tool="note", arguments={"text": "three"}))[0] == "nobody 3 three word"
        assert env.step("<finish/>")[1] == 1.0


@pytest.mark.slow(reason="loads the SDK of MCP")
def test_an_agent_calls_a_server_beside_its_container(engine: Engine, tmp_path: Path) -> None:
    """A server with a URL is a side-car, which only the container reaches; the first call waits until it listens."""
    with TerminalEnv(path=write_task(tmp_path / "http", HTTP, COMPOSE), engine=engine, warm=0) as env:
        told, _ = env.reset()
        assert "- notes: streamable-http, http://keeper:8000/mcp" in told
        assert "- note: Keep a note." in told
        assert env.step(call("mcp_call", tool="note", arguments={"text": "kept"}))[0].startswith("root 1 kept")


def test_without_a_client_the_instruction_names_the_servers(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Harbor, the agent then uses them from its shell."""
    for place in ("env", "episodes.task_session"):
        monkeypatch.setattr(f"gem_terminal.{place}.mcp_client_is_installed", lambda: False)
    with TerminalEnv(path=write_task(tmp_path / "bare", STDIO), engine=engine, warm=0) as env:
        told, _ = env.reset()
        assert "- notes: stdio, perl /server.pl" in told
        assert "mcp_call" not in told
        assert len(env.tool_schemas) == 5
        assert "pip install gem-terminal[mcp]" in env.step(call("mcp_call", tool="note"))[0]


def test_the_transport_that_clients_no_longer_have_is_only_told(tmp_path: Path) -> None:
    """Harbor's default is sse."""
    task = load_task(write_task(tmp_path / "old", 'name = "old"\nurl = "http://old:1/sse"\n'))
    assert [(server.transport, server.url) for server in task.mcp_servers] == [("sse", "http://old:1/sse")]


def test_a_port_carries_any_bytes_both_ways(engine: Engine, small: Any) -> None:
    """Megabytes arrive whole; a port where nothing listens ends the connection; a closed one refuses."""
    from gem_terminal.task import ResourceLimits

    data = bytes(range(256)) * 4096
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20)) as container:
        echo = ContainerPort(lambda: container.open(("cat",)))
        nobody = ContainerPort(lambda: container.open(connection_command("localhost", 9, 0.1)))
        try:
            with socket.create_connection(("127.0.0.1", echo.number)) as connection:
                received = b""
                for begin in range(0, len(data), 1 << 16):
                    connection.sendall(data[begin : begin + (1 << 16)])
                    while len(received) < min(begin + (1 << 16), len(data)):
                        received += connection.recv(1 << 16)
                assert received == data
            with socket.create_connection(("127.0.0.1", nobody.number)) as connection:
                assert connection.recv(1) == b""
        finally:
            echo.close()
            nobody.close()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", echo.number))
