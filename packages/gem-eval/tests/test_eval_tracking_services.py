"""The run trackers of services, with the services' own libraries: what MLflow, Weights & Biases and a receiver of
OpenTelemetry hold after a run is what the run folder holds.

The receiver is MLflow's server, which reads the conventions for generative AI and was not made here.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from gem_eval.runs import RunFolder
from gem_eval.trackers import episode_figures

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("core", "hub-client", "cli", "processes", "rollout", "questions", "eval", "envs-games")
ID = "game:GuessTheNumber-v0-easy"
DEADLINE = 120.0  # seconds

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

MLFLOW_SCRIPT = """
import json
from mlflow import MlflowClient
client = MlflowClient()
(run,) = client.search_runs([client.get_experiment_by_name("gem").experiment_id])
of = lambda name: [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name)]
history = {name: of(name) for name in run.data.metrics}
print(json.dumps([run.info.run_name, run.info.status, run.data.params, history]))
"""

TRACES_SCRIPT = """
import json
from mlflow import MlflowClient
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
known = [value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI")] + [ERROR_TYPE]
traces = [
    {
        "tokens": trace.info.trace_metadata.get("mlflow.trace.tokenUsage"),
        "spans": [
            {
                "name": span.name, "id": span.span_id, "parent": span.parent_id, "type": span.span_type,
                "begin": span.start_time_ns, "end": span.end_time_ns, "attributes": dict(span.attributes),
                "events": [[event.name, event.attributes] for event in span.events],
            }
            for span in trace.data.spans
        ],
    }
    for trace in MlflowClient().search_traces(locations=["0"], max_results=500)
]
print(json.dumps({"known": known, "traces": traces}))
"""

WANDB_SCRIPT = """
import json, sys
from pathlib import Path
from wandb.proto.wandb_internal_pb2 import Record

def records(content):  # the log format of LevelDB, after a header of 7 bytes: blocks of 32 KiB, chunks of 7 + n bytes
    at, whole = 7, b""
    while at + 7 <= len(content):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        size, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        whole += content[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            yield Record.FromString(whole)
            whole = b""

found = {"runs": [], "history": [], "summary": {}, "config": {}}
for path in sorted(Path(sys.argv[1]).glob("wandb/offline-run-*/*.wandb")):
    for record in records(path.read_bytes()):
        if record.WhichOneof("record_type") == "run":
            found["runs"].append([record.run.run_id, record.run.project, record.run.display_name])
        for item in record.history.item:
            if item.nested_key[:1] == ["_step"] or item.key == "_step":
                found["history"].append({})
        rows = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        if rows:
            found["history"][-1].update(rows)
        for item in record.summary.update:
            found["summary"]["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        for item in record.config.update:
            found["config"]["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def venv() -> Iterator[Path]:
    """The folder of the commands of an environment with the three services' libraries."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    with TemporaryDirectory() as folder:
        uv = [sys.executable, "-m", "uv"]
        paths = [str(ROOT / "packages" / f"gem-{name}") for name in PACKAGES]
        editable = [
            text
            for path in paths
            for text in ("-e", f"{path}[mlflow,opentelemetry,wandb]" if path.endswith("gem-eval") else path)
        ]
        subprocess.run([*uv, "venv", "-q", "-p", sys.executable, folder + "/venv"], check=True)
        subprocess.run([*uv, "pip", "install", "-q", "-p", folder + "/venv/bin/python", *editable], check=True)
        yield Path(folder, "venv", "bin")


@contextmanager
def serving(command: list[Any], address: str, folder: Path, **variables: str) -> Iterator[None]:
    """A server in a process, from its first answer until the end of the block."""
    with (folder / "server.txt").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **variables}, cwd=folder)
        try:
            end = time.monotonic() + DEADLINE
            while True:
                try:
                    with urllib.request.urlopen(address, timeout=5):
                        break
                except OSError:
                    alive = server.poll() is None and time.monotonic() < end
                    assert alive, (folder / "server.txt").read_text()
                    time.sleep(0.1)  # until it listens
            yield
        finally:
            server.terminate()
            server.wait(DEADLINE)


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def mlflow(venv: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a server of MLflow."""
    port = free_port()
    store = ["--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db", "--workers", "1"]
    command = [venv / "mlflow", "server", *store, "--host", "127.0.0.1", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with serving(command, f"{address}/health", tmp_path, MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"):
        yield address


def played(venv: Path, out: Path, *options: str, **variables: str) -> str:
    """Run gem eval with options, which must succeed, and return its standard output."""
    command = [venv / "gem", "eval", *options, "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=False)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout


def read(venv: Path, script: str, *arguments: str, **variables: str) -> Any:
    """Run a script in the environment, and return the JSON of its last line."""
    command = [venv / "python", "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def recorded(out: Path) -> list[dict[str, float]]:
    """The figures of the episodes of a run folder, in the order in which they ended."""
    folder = RunFolder(out)
    return [
        {f"{ID}/{name}": value for name, value in episode_figures(folder.episode(row)).items()} for row in folder.rows()
    ]


def test_mlflow_holds_the_run(venv: Path, mlflow: str, tmp_path: Path) -> None:
    """A metric for each figure of each episode, the settings, the summary; a resumed run goes on in the same run."""
    out = tmp_path / "a run"
    variables = {"MLFLOW_TRACKING_URI": mlflow}
    shown = played(venv, out, ID, "--agent", "random", "-n", "7", "--track", "mlflow", "--json", **variables)
    assert json.loads(shown)["interrupted"] is False  # MLflow's library prints to standard output unless told not to
    lines = (out / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (out / "episodes.jsonl").write_bytes(b"".join(lines[:5]))
    resume = [venv / "gem", "eval", "--resume", out]
    subprocess.run(resume, env={**os.environ, **variables}, check=True, capture_output=True)
    name, status, settings, history = read(venv, MLFLOW_SCRIPT, **variables)
    assert (name, status, settings["agent"], settings["environments"]) == ("a run", "FINISHED", "random", ID)
    figures = recorded(out)
    assert [len(figures), len(lines)] == [7, 7]
    for metric in ("return", "success", "turns"):
        first = [[step, value] for step, value in history[f"{ID}/{metric}"]]
        expected = [[step, row[f"{ID}/{metric}"]] for step, row in enumerate(figures)]
        assert sorted(first)[:5] == expected[:5]
        assert {step for step, _ in first} == set(range(7))
    assert history["summary/environments/" + ID + "/episodes"][-1][1] == 7


def test_a_receiver_of_opentelemetry_reads_episodes_and_calls(venv: Path, mlflow: str, tmp_path: Path) -> None:
    """A trace an episode, a span a call, the tokens as the run folder has them, and no name that nobody knows."""
    port = free_port()
    model = [venv / "gem", "fake-model", "--policy", ID, "--port", str(port)]
    variables = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{mlflow}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-mlflow-experiment-id=0",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{mlflow}/health",  # MLflow takes no metrics
    }
    out = tmp_path / "run"
    with serving(model, f"http://127.0.0.1:{port}/v1/models", tmp_path):
        played(venv, out, ID, "-u", f"http://127.0.0.1:{port}/v1", "-n", "200", "--track", "opentelemetry", **variables)
    folder = RunFolder(out)
    episodes = {t.key.seed: t for t in map(folder.episode, folder.rows())}
    found = read(venv, TRACES_SCRIPT, MLFLOW_TRACKING_URI=mlflow)
    assert len(found["traces"]) == len(episodes) == 200
    for trace in found["traces"]:
        (root,) = (span for span in trace["spans"] if span["parent"] is None)
        episode = episodes.pop(root["attributes"]["gem.seed"])
        calls = [span for span in trace["spans"] if span["parent"] == root["id"]]
        assert [root["type"], *(span["type"] for span in calls)] == ["AGENT"] + ["CHAT_MODEL"] * len(episode)
        assert len(calls) + 1 == len(trace["spans"])
        tokens = json.loads(trace["tokens"])
        for own, theirs in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
            assert tokens[theirs] == sum((turn.usage or {})[own] for turn in episode.transitions)
        assert root["begin"] == round(episode.started_at * 1e9)
        assert all(root["begin"] <= span["begin"] <= span["end"] <= root["end"] for span in calls)
        verdicts = {event[1]["gen_ai.evaluation.name"]: event[1] for event in root["events"]}
        assert verdicts["return"]["gen_ai.evaluation.score.value"] == episode.episode_return
        assert verdicts["success"]["gen_ai.evaluation.score.label"] == episode.outcome
        names = {
            name
            for span in trace["spans"]
            for name in (*span["attributes"], *(n for e in span["events"] for n in e[1]))
        }
        unknown = {name for name in names if not name.startswith(("gem.", "mlflow."))} - set(found["known"])
        assert not unknown
    assert not episodes


def test_wandb_holds_the_run_without_a_network(venv: Path, tmp_path: Path) -> None:
    """Offline: a row an episode, the settings and the summary in the run folder, and nothing outside it."""
    out, home = tmp_path / "run", tmp_path / "home"
    home.mkdir()
    variables = {"WANDB_MODE": "offline", "HOME": str(home)}
    played(venv, out, ID, "--agent", "random", "-n", "7", "--track", "wandb", **variables)
    found = read(venv, WANDB_SCRIPT, str(out))
    rows = [row for row in found["history"] if "episode" in row]
    assert [row["episode"] for row in rows] == list(range(7))
    for row, expected in zip(rows, recorded(out), strict=True):
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert found["config"]["agent"] == "random"
    assert found["summary"][f"summary/environments/{ID}/episodes"] == 7
    assert {tuple(run) for run in found["runs"]} == {((out / "tracking" / "wandb").read_text().strip(), "gem", "run")}


def test_without_a_receiver_the_run_is_whole(venv: Path, tmp_path: Path) -> None:
    """Every episode is played and recorded, and one warning says that the spans were not taken, and what to look at."""
    command = [venv / "gem", "eval", ID, "--agent", "reference", "-n", "3", "--track", "opentelemetry"]
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    done = subprocess.run(
        [*command, "--out", tmp_path / "run"],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=True,
    )
    assert done.stderr.count("were not taken") == 1
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in done.stderr
    assert len(RunFolder(tmp_path / "run").rows()) == 3


def test_a_service_that_takes_nobody_ends_the_run_before_it_begins(venv: Path, tmp_path: Path) -> None:
    """Weights & Biases without a key, MLflow without its server: one sentence, and no episode."""
    variables = {
        "HOME": str(tmp_path),
        "WANDB_MODE": "online",
        "WANDB_API_KEY": "",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    }
    variables["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{free_port()}"
    for tracker in ("wandb", "mlflow"):
        out = tmp_path / tracker
        command = [venv / "gem", "eval", ID, "--agent", "reference", "-n", "3", "--track", tracker, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=False)
        assert done.returncode != 0
        assert f"run tracker {tracker} cannot begin" in done.stderr
        assert "Traceback" not in done.stderr
        assert not RunFolder(out).rows()
