"""Data sets by name: found on this machine, or fetched from a server that speaks Hugging Face's protocol."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner

from gem.errors import ArgumentError, DatasetError, UnknownEnvironmentError
from gem_questions import open_rows
from gem_questions.cli.data import data_command
from gem_questions.huggingface import SECONDS, unreachable

NAME = "axon-rl/GSM-8k"
ROWS = [{"problem": "What is 1 + 1?", "answer": "2"}, {"problem": "What is 2 + 2?", "answer": "4"}]
REVISION = "a" * 40
HUB_VARIABLES = ("GEM_DATA_DIR", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_CACHE", "HF_HOME")

READ = """
import json, sys
from gem_questions import open_rows
rows = open_rows({name!r}, split={split!r})
print(json.dumps([[dict(rows[i]) for i in range(len(rows))], "datasets" in sys.modules]))
"""


class Server(BaseHTTPRequestHandler):
    """Answers what Hugging Face's libraries ask in order to download one small data set."""

    protocol_version = "HTTP/1.1"
    files: dict[str, bytes]

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        api, resolve = f"/api/datasets/{NAME}", f"/datasets/{NAME}/resolve/"
        entries = [{"type": "file", "path": name, **self._sizes(name)} for name in self.files]
        if path == api or path.startswith(f"{api}/revision/"):
            siblings = [{"rfilename": name, **self._sizes(name)} for name in self.files]
            flags = {"private": False, "gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
            self._answer({"id": NAME, "sha": REVISION, "siblings": siblings, **flags})
        elif path.startswith(f"{api}/tree/"):
            inner = path.removeprefix(f"{api}/tree/").partition("/")[2]
            folder = {"type": "directory", "path": "data", "oid": "0" * 40, "size": 0}
            self._answer([folder, *entries] if not inner else [e for e in entries if e["path"].startswith(inner)])
        elif path.startswith(f"{api}/paths-info/"):
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            self._answer([entry for entry in entries if entry["path"] in body.get("paths", ())])
        elif path.startswith(resolve) and (name := path.removeprefix(resolve).partition("/")[2]) in self.files:
            headers = {"ETag": f'"{self._sizes(name)["oid"]}"', "X-Repo-Commit": REVISION}
            self._answer(self.files[name], headers=headers)
        else:
            known = NAME in path
            self._answer({}, 404, {"X-Error-Code": "EntryNotFound" if known else "RepoNotFound"})

    do_HEAD = do_POST = do_GET  # names of http.server

    def _sizes(self, name: str) -> dict[str, Any]:
        digest = hashlib.sha1(self.files[name], usedforsecurity=False).hexdigest()
        return {"size": len(self.files[name]), "oid": digest, "blobId": digest}

    def _answer(self, content: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no data set is, and that is offline."""
    for name in HUB_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that has one data set."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("datasets")
    files = {"README.md": b"# GSM-8k\n"}
    for split, rows in (("train", ROWS), ("test", ROWS[:1])):
        file = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows), file)
        files[f"data/{split}-00000-of-00001.parquet"] = file.getvalue()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("OneSet", (Server,), {"files": files}))
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def python(code: str, tmp_path: Path, endpoint: str, **variables: str) -> str:
    """Run code in a process that asks a server: the libraries read their variables when they are imported."""
    environ = {key: value for key, value in os.environ.items() if key not in HUB_VARIABLES}
    environ |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "127.0.0.1", **variables}
    # A server on a busy machine answers late.
    patient = f"import gem_questions.huggingface\ngem_questions.huggingface.SECONDS = 60.0\n{code}"
    done = subprocess.run([sys.executable, "-c", patient], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(tmp_path: Path, endpoint: str, split: str = "train", **variables: str) -> list[Any]:
    """The rows of a split, and whether the library was needed for them."""
    printed = python(READ.format(name=NAME, split=split), tmp_path, endpoint, **variables)
    rows: list[Any] = json.loads(printed.splitlines()[-1])
    return rows


NOWHERE = "http://127.0.0.1:9"


@pytest.mark.slow(reason="an interpreter of its own imports the library datasets")
def test_what_was_pulled_is_read_without_a_network(server: str, tmp_path: Path) -> None:
    """Pull puts a set into Hugging Face's cache, lists it, and every split is found there without the library."""
    pull = f"from gem_questions.cli.data import data_command; data_command(['pull', {NAME!r}, '--json'])"
    (report,) = json.loads(python(pull, tmp_path, server))
    assert report["dataset"] == NAME
    assert report["files"] == 3
    assert Path(report["path"]).joinpath("data/train-00000-of-00001.parquet").is_file()
    assert read(tmp_path, NOWHERE) == [ROWS, False]
    assert read(tmp_path, NOWHERE, "test", HF_HUB_OFFLINE="1") == [ROWS[:1], False]
    with pytest.raises(DatasetError, match="has no split 'dev'; it has 'test', 'train'"):
        open_rows(NAME, split="dev")


@pytest.mark.slow(reason="an interpreter of its own imports the library datasets")
def test_a_mirror_is_a_folder_of_plain_files(server: str, tmp_path: Path) -> None:
    """Pull --dir writes what GEM_DATA_DIR finds, wherever the folder is carried."""
    mirror, carried = tmp_path / "mirror", tmp_path / "carried"
    pull = (
        f"from gem_questions.cli.data import data_command; data_command(['pull', {NAME!r}, '--dir', {str(mirror)!r}])"
    )
    assert "3 files, " in python(pull, tmp_path, server)
    shutil.move(mirror, carried)
    assert read(tmp_path, NOWHERE, GEM_DATA_DIR=str(carried)) == [ROWS, False]


STREAM = f"""
from gem.errors import DatasetError
print(len(list(open_rows({NAME!r}, streaming=True))))
try:
    open_rows("axon-rl/No-such")
except DatasetError as error:
    print(error)
"""


@pytest.mark.slow(reason="an interpreter of its own imports the library datasets")
def test_the_library_fetches_and_streams_what_is_not_here(server: str, tmp_path: Path) -> None:
    """Without a pull the library downloads; what it leaves behind is read without it the next time.

    Streaming reads from the server; a set that the server lacks is an error that names set and server.
    """
    fetched, streamed, error = python(READ.format(name=NAME, split="train") + STREAM, tmp_path, server).splitlines()
    assert json.loads(fetched) == [ROWS, True]
    assert streamed == "2"
    assert f"the data set 'axon-rl/No-such' cannot be loaded from Hugging Face ({server})" in error
    assert read(tmp_path, NOWHERE) == [ROWS, False]
    shutil.rmtree(tmp_path / "home" / "hub")
    assert read(tmp_path, NOWHERE, "test") == [ROWS[:1], False]


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"])
def test_offline_is_an_error_that_names_the_choices(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set, the reason, and the three ways to have it without a network."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv(variable, "1")
    with pytest.raises(DatasetError) as caught:
        open_rows(NAME)
    for part in (f"'{NAME}'", f"{variable} is set", f"gem data pull {NAME}", "dataset=PATH", "GEM_DATA_DIR"):
        assert part in str(caught.value)


def test_a_server_that_refuses_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection says so, and what to do."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    with pytest.raises(DatasetError, match=r"cannot be reached .* run 'gem data pull"):
        open_rows(NAME)


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name look-up has no limit of its own; the wait ends after SECONDS."""
    released = threading.Event()

    def hang(*_: Any, **__: Any) -> socket.socket:
        released.wait(60)
        raise OSError("late")

    monkeypatch.setattr(socket, "create_connection", hang)
    monkeypatch.setattr("gem_questions.huggingface.SECONDS", 0.2)
    begin = time.perf_counter()
    assert "does not answer" in (unreachable() or "")
    assert time.perf_counter() - begin < 30
    assert SECONDS <= 5
    released.set()


def test_a_proxy_stands_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a proxy is set, it is the proxy that must answer."""
    asked = []
    monkeypatch.setenv("HF_ENDPOINT", "http://data.example")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    def connect(address: Any, **_: Any) -> Any:
        asked.append(address)
        raise OSError("no")

    monkeypatch.setattr(socket, "create_connection", connect)
    assert unreachable() is not None
    assert asked == [("proxy.example", 3128)]


MANIFEST = """
schema = 1
[[environment]]
id = "sums:GSM-v0"
entry_point = "sums_envs:SumsEnv"
description = "Sums."
requires = ["dataset"]
[environment.variants]
other = { dataset_name = "axon-rl/Other", split = "test" }

[[environment]]
id = "sums:Bundled-v0"
entry_point = "sums_envs:SumsEnv"
description = "Sums."
"""

MODULE = """
from gem_questions import QuestionEnv, open_rows

class SumsEnv(QuestionEnv):
    def __init__(self, dataset_name: str = "axon-rl/GSM-8k", split: str = "train") -> None:
        super().__init__(open_rows(dataset_name, split=split))
"""

PACKAGE = {"sums_envs/__init__.py": MODULE, "sums_envs/environments.toml": MANIFEST}


@pytest.mark.filterwarnings("ignore::gem.errors.PluginWarning")  # other installed packages may be broken
def test_list_says_what_is_needed_and_where_it_is(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data set and split come from the arguments or the constructor; one in the mirror is found."""
    site.add(
        "sums-envs", {"sums": "sums_envs"}, {"sums_envs/__init__.py": MODULE, "sums_envs/environments.toml": MANIFEST}
    )
    mirror = tmp_path / "mirror" / "axon-rl" / "Other"
    mirror.mkdir(parents=True)
    mirror.joinpath("test.jsonl").write_text('{"problem": "?"}\n')
    monkeypatch.setenv("GEM_DATA_DIR", str(tmp_path / "mirror"))
    result = CliRunner().invoke(data_command, ["list", "--json"])
    assert [row for row in json.loads(result.output) if row["id"].startswith("sums:")] == [
        {"id": "sums:GSM-v0", "dataset": NAME, "split": "train", "path": None},
        {"id": "sums:GSM-v0-other", "dataset": "axon-rl/Other", "split": "test", "path": str(mirror)},
    ]
    text = CliRunner().invoke(data_command, ["list"]).output
    assert "not here" in text
    assert str(mirror) in text
    assert "gem data pull ID" in text


def test_pull_says_what_it_cannot_do(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, no such environment, no data set: one sentence each."""
    site.add(
        "sums-envs", {"sums": "sums_envs"}, {"sums_envs/__init__.py": MODULE, "sums_envs/environments.toml": MANIFEST}
    )
    for name, kind, message in (
        ("sums:GSM-v0", DatasetError, "nothing can be fetched: HF_HUB_OFFLINE is set"),
        ("sums:Nothing-v0", UnknownEnvironmentError, "Nothing"),
        ("sums:Bundled-v0", ArgumentError, "has no data set at Hugging Face"),
        ("a/b/c", ArgumentError, "neither an environment"),
    ):
        result = CliRunner().invoke(data_command, ["pull", name])
        assert isinstance(result.exception, kind)
        assert message in str(result.exception)
