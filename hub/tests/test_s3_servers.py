"""Hubs in buckets of S3 servers that others wrote; see ``s3_servers.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from publishing_process import RACED
from s3_servers import BUCKET, serving
from toy_hub import MOMENT, contents, make_wheel, publish_wheel

from gem_hub.events import Quarantine, Yank
from gem_hub.storage.addresses import open_files
from gem_hub.storage.bucket import HubBucket
from gem_hub.store import Store
from gem_hub_client.errors import HubError

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow(reason="it installs servers from package indexes, and publishes over HTTP"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="it takes fork and SIGKILL"),
]
FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the servers are installed into."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def moto(servers: Path, reserve_port: Callable[[], int]) -> Iterator[dict[str, str]]:
    """The environment that leads to a server which keeps conditional writes."""
    with serving("moto", servers, reserve_port) as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables


def test_a_server_that_ignores_the_condition_is_refused(
    servers: Path, reserve_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """s3rver 3.7.1 creates an object twice, so no hub is opened there, and nothing is left in the bucket."""
    with serving("s3rver", servers, reserve_port) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(HubError, match=r"cannot hold a hub.*ignores If-None-Match"):
            open_files(f"s3://{BUCKET}/hub")
        assert list(HubBucket.open(f"s3://{BUCKET}/hub").files("")) == []


@pytest.mark.usefixtures("moto")
class TestMoto:
    """Hubs in a bucket of moto."""

    def test_the_tree_is_that_of_a_folder(self, tmp_path: Path) -> None:
        """The same changes give the same bytes over HTTP, in a part of a bucket, and nothing outside that part."""
        trees = []
        for store in (Store(tmp_path / "hub"), Store(open_files(f"s3://{BUCKET}/a/tree"))):
            for version in ("0.1.0", "1!2.0", "2.0rc1"):
                publish_wheel(store, make_wheel(tmp_path / "dist", version=version))
            publish_wheel(store, make_wheel(tmp_path / "dist", "bad", "1.0", ["bad:T-v0"]))
            store.add_event(Yank(name="toy-envs", version="1!2.0", reason="x", by="someone", created=MOMENT))
            store.add_event(Quarantine(name="bad", reason="x", by="someone", created=MOMENT))
            assert store.rebuild(check=True) == []
            trees.append(contents(store.files))
        assert trees[0] == trees[1]
        whole = HubBucket.open(f"s3://{BUCKET}")
        assert {path.partition("/")[0] for path in whole.files("a")} == {"a"}
        assert whole.names("a") == ["tree"]

    def test_a_bucket_that_does_not_exist_is_named(self) -> None:
        """The error says so, and does not speak of conditions."""
        with pytest.raises(HubError, match="s3://missing/hub: there is no such bucket"):
            open_files("s3://missing/hub")

    def test_concurrent_publishers_lose_nothing_and_one_wins_a_race(self, tmp_path: Path) -> None:
        """8 processes publish 25 versions each and race for one more: all are there, and one wins the race."""
        hub, publishers, releases = f"s3://{BUCKET}/raced", 8, 25
        script = str(FOLDER / "publishing_process.py")
        processes = [
            subprocess.Popen(
                [sys.executable, script, hub, str(tmp_path), str(number), str(releases)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(publishers)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [json.loads(process.communicate()[0]) for process in processes]
        raced = sorted(result.pop(RACED) for result in results)
        assert raced[0] == "published"
        assert all("what is published never changes" in refusal for refusal in raced[1:])
        assert {outcome for result in results for outcome in result.values()} == {"published"}
        store = Store(open_files(hub))
        assert store.existing("toy-envs").serials == list(range(1, publishers * releases + 2))
        assert store.rebuild(check=True) == []

    def test_a_kill_at_any_moment_corrupts_nothing(self, tmp_path: Path) -> None:
        """After 100 kills no reader ever stumbled, the next change has completed what was begun, nothing is lost."""
        command = [sys.executable, FOLDER / "kill_publishers.py", "bucket", tmp_path, "1"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (process.returncode, process.stderr) == (0, "")
        result = json.loads(process.stdout)
        assert result["killed"] >= 100
        assert result["problems"] == result["differing"] == result["still"] == []
        assert result["listed"] == result["records"]
        assert result["serials"] == list(range(1, len(result["serials"]) + 1))
