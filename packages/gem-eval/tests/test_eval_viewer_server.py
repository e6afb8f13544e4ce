"""The server of the viewer, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gem_eval.runs import RunFolder
from gem_eval.viewer.viewed_run import ViewedRun
from gem_rollout.trajectory import Trajectory

MakeRun = Callable[..., RunFolder]
MakeTrajectory = Callable[..., Trajectory]


class Asking:
    """A served run, and a client that asks for its paths."""

    def __init__(self, folders: list[Path]) -> None:
        from chromium import BackgroundLoop

        from gem_eval.viewer.server import serve_runs

        self.loop = BackgroundLoop()
        self._serving = serve_runs([ViewedRun(folder) for folder in folders])
        self.address = self.loop.run(self._serving.__aenter__())

    def close(self) -> None:
        self.loop.run(self._serving.__aexit__(None, None, None))
        self.loop.close()

    def ask(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer; ``path`` is below the token, or absolute with a /."""
        return self.loop.run(self._ask(path, headers))

    def json(self, path: str) -> Any:
        """Return the body of an answer."""
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    async def _ask(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        import aiohttp
        from yarl import URL

        address = self.address.rsplit("/", 2)[0] + path if path.startswith("/") else self.address + path
        async with (
            aiohttp.ClientSession() as session,
            session.get(URL(address, encoded=True), headers=headers) as answer,
        ):
            return answer.status, dict(answer.headers), await answer.read()


@pytest.fixture
def serve() -> Iterator[Callable[..., Asking]]:
    """A function that serves run folders as long as the test lasts."""
    served: list[Asking] = []

    def start(*runs: RunFolder) -> Asking:
        served.append(Asking([run.path for run in runs]))
        return served[-1]

    yield start
    for each in served:
        each.close()


def test_rows_are_columns_that_name_each_episode(make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """The rows of a run arrive as columns: numbers as they are, names as codes."""
    served = serve(make_run(episodes=6, group=2, failures=1))
    rows = served.json("runs/0/rows")
    assert rows["count"] == 6
    assert rows["seed"] == [0, 0, 1, 1, 2, 2]
    assert rows["repetition"] == [0, 1, 0, 1, 0, 1]
    assert [rows["env"]["names"][code] for code in rows["env"]["codes"]] == ["game:GuessTheNumber-v0-easy"] * 6
    assert [rows["source"]["names"][code] if code >= 0 else None for code in rows["source"]["codes"]] == [
        "endpoint", None, None, None, None, None,
    ]  # fmt: skip
    assert set(rows["success"][1:]) <= {0, 1}
    assert all(isinstance(value, float) for value in rows["return"])


def test_an_episode_is_the_record_in_the_file(make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """Each episode is answered from its own bytes of the file."""
    run = make_run(episodes=5)
    served = serve(run)
    served.json("runs/0/rows")
    for number, row in enumerate(run.rows()):
        record = served.json(f"runs/0/episodes/{number}")
        assert Trajectory.from_dict(record) == run.episode(row)


def test_a_growing_run_answers_with_what_is_new(
    make_run: MakeRun, make_trajectory: MakeTrajectory, serve: Callable[..., Asking]
) -> None:
    """Rows are asked for from a number on, and only those that were added arrive."""
    run = make_run(episodes=3)
    served = serve(run)
    assert served.json("runs/0/rows")["count"] == 3
    assert served.json("runs/0/rows?from=3")["count"] == 0
    with RunFolder.open(run.path, write=True) as folder:
        folder.append(make_trajectory(seed=77))
        folder.write_live({"total": 9, "done": 4, "running": []})
        added = served.json("runs/0/rows?from=3")
        assert (added["from"], added["count"], added["seed"]) == (3, 1, [77])
        assert added["live"]["total"] == 9
    assert served.json("runs/0/rows?from=4")["live"] is None


def test_a_run_that_begins_anew_is_sent_whole(
    make_run: MakeRun, make_trajectory: MakeTrajectory, serve: Callable[..., Asking]
) -> None:
    """Where other episodes replace those of a folder, the next answer holds all rows and another generation."""
    run = make_run(episodes=4)
    served = serve(run)
    assert served.json("runs/0/rows")["generation"] == 0
    for name in ("episodes.jsonl", "index.jsonl"):
        (run.path / name).write_bytes(b"")
    with RunFolder.open(run.path, write=True) as folder:
        folder.append(make_trajectory(seed=5))
    rows = served.json("runs/0/rows?from=4&generation=0")
    assert (rows["generation"], rows["from"], rows["seed"]) == (1, 0, [5])


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "localhost.", "0.0.0.0", "", "[::1]x"])
def test_other_hosts_are_refused(host: str, make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """A page elsewhere that lets its own name point to this machine reads nothing."""
    served = serve(make_run())
    status, _, body = served.ask("runs", Host=host)
    assert status in (400, 403)
    assert b"made-up" not in body


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:99"])
def test_a_forwarded_port_works(host: str, make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """This machine may be named with any port."""
    assert serve(make_run()).ask("runs", Host=host)[0] == 200


def test_nothing_is_answered_without_the_token(make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """Paths outside the token do not exist, and the token differs from server to server."""
    run = make_run()
    one, other = serve(run), serve(run)
    tokens = [served.address.split("/")[-2] for served in (one, other)]
    assert len(set(tokens)) == 2
    assert min(map(len, tokens)) >= 20
    for path in ("/", "/runs", "/page/main.js", f"/{tokens[1]}/runs", f"/{tokens[0][:-1]}/runs"):
        assert one.ask(path)[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "page/../server.py", "page/..%2fserver.py", "page/%2e%2e/server.py", "page//etc/passwd", "page/",
        "runs/1/rows", "runs/-1/rows", "runs/0/episodes/99", "runs/0/episodes/-1", "runs/0/episodes/1e3",
        "runs/0/episodes/../../run.json", "runs/99999999999/rows", "page/main.js%00.html", "runs/\u0660/rows",
    ],
)  # fmt: skip
def test_only_known_paths_exist(path: str, make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """No path leads out of the page's own files and the runs."""
    served = serve(make_run())
    served.json("runs/0/rows")
    status, headers, _ = served.ask(path)
    assert status in (400, 404)
    if status == 404:
        assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_every_answer_forbids_all_that_the_page_does_not_need(make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """Answers are never sniffed, framed, cached or shared, and no script but the page's own may run."""
    served = serve(make_run())
    for path in ("", "page/main.js", "runs", "runs/0/rows", "nothing"):
        _, headers, _ = served.ask(path)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        policy = headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy


def test_a_damaged_record_is_an_error_and_not_the_end(make_run: MakeRun, serve: Callable[..., Asking]) -> None:
    """A record that is overwritten answers with what is wrong; the others go on."""
    run = make_run(episodes=3)
    served = serve(run)
    served.json("runs/0/rows")
    row = run.rows()[1]
    with (run.path / "episodes.jsonl").open("r+b") as file:
        file.seek(row.offset)
        file.write(b"#" * 10)
    status, _, body = served.ask("runs/0/episodes/1")
    assert status == 404
    assert "episode 1" in json.loads(body)["error"]
    assert served.ask("runs/0/episodes/2")[0] == 200
