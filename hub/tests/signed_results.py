"""Results as publishers send them, right ones and forged ones, without an evaluation."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from toy_hub import synthetic_release

from gem_eval.hub_results import rows_of
from gem_eval.hub_results.figures import summary_of
from gem_hub.events import Conformance, Result
from gem_hub.package import WheelPackage
from gem_hub.records import Release
from gem_hub_client.results.envelope import PublisherKey
from gem_hub_client.results.record import ResultEpisode, ResultRecord, payload_of

NAME = "toy-envs"
ENVIRONMENT = "toy:Thing-v0"
OWNER = "alice"
CODE = sha256(b"code").hexdigest()


def toy_release(version: str = "0.1.0") -> Release:
    """Return a release with two environments that pay 0 to 1."""
    release, _ = synthetic_release(NAME, version, [ENVIRONMENT, "toy:Other-v0"], publisher=OWNER)
    priced = [one.model_copy(update={"reward_range": [0.0, 1.0]}) for one in release.environments]
    return release.model_copy(update={"environments": priced})


def code_record(release: Release) -> Conformance:
    """Return a run of the kit that says which code a release's wheel holds."""
    environments = [{"id": one.id, "clauses": []} for one in release.environments]
    packages: list[Any] = [{"source_digest": CODE, "environments": environments}]
    return Conformance(
        name=release.name,
        version=release.version,
        by=release.publisher,
        record={"gem_core": "0.1.0", "packages": packages},
        sha256=release.sha256,
    )


def toy_package() -> WheelPackage:
    """Return a package with a release, whose code the kit has seen."""
    release = toy_release()
    events = [code_record(release).model_copy(update={"serial": 2})]
    return WheelPackage.of(NAME, [release.model_copy(update={"serial": 1})], events)


def made_result(publisher: str, key: PublisherKey, scores: list[float], **changes: Any) -> ResultRecord:
    """Return a result with an episode for each score; 1 is a success."""
    release = toy_release()
    salt = changes.pop("salt", publisher)
    episodes = tuple(
        ResultEpisode(
            seed=seed,
            repetition=0,
            outcome="succeeded" if score == 1 else "unsuccessful",
            episode_return=score,
            turns=2,
            prompt_tokens=100 + seed,
            completion_tokens=10,
            cost=0.001,
            failure=None,
            sha256=sha256(f"{salt} {seed}".encode()).hexdigest(),
        )
        for seed, score in enumerate(scores)
    )
    record = ResultRecord(
        package=NAME,
        version="0.1.0",
        filename=release.filename,
        wheel=release.sha256,
        code=CODE,
        environment=ENVIRONMENT,
        kwargs={},
        wrappers=[],
        limits={},
        publisher=publisher,
        key=key.public,
        created="2026-01-31T12:00:00Z",
        agent="model",
        model="small-model",
        harness="gem-eval",
        sampling={"temperature": 0.7},
        prompt="",
        software={"gem-core": "0.1.0"},
        seed=0,
        group=1,
        planned=len(scores),
        episodes=episodes,
        summary={},
        raw_sha256=sha256(salt.encode()).hexdigest(),
        raw_size=1000,
        raw_url="",
    )
    record = replace(record, **changes)
    return replace(record, summary=changes.get("summary", summary_of(rows_of(record))))


def signed_event(record: ResultRecord, key: PublisherKey, **changes: Any) -> Result:
    """Return a result as an event of its publisher."""
    values = {"name": record.package, "by": record.publisher, "version": record.version, "sha256": record.wheel}
    return Result(**{**values, "envelope": key.envelope(payload_of(record)), **changes})


def forged_event(record: ResultRecord, key: PublisherKey, forge: Callable[[dict[str, Any]], object]) -> Result:
    """Return a result whose predicate was changed before it was signed, so that the signature is right."""
    document = json.loads(payload_of(record))
    forge(document["predicate"])
    payload = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return signed_event(record, key, envelope=key.envelope(payload))


def tampered_event(record: ResultRecord, key: PublisherKey, tamper: Callable[[dict[str, Any]], object]) -> Result:
    """Return a result whose envelope was changed after it was signed."""
    envelope = key.envelope(payload_of(record))
    tamper(envelope)
    return signed_event(record, key, envelope=envelope)


def replace_in_payload(envelope: dict[str, Any], old: str, new: str) -> None:
    """Change a text inside a signed payload."""
    payload = base64.b64decode(envelope["payload"]).decode()
    assert old in payload
    envelope["payload"] = base64.b64encode(payload.replace(old, new).encode()).decode()


def new_key(folder: Path, name: str) -> PublisherKey:
    """Return a key in a file of its own."""
    from gem_hub.signing.keys import create_key

    path = folder / f"{name}.key"
    if not path.exists():
        create_key(path)
    return PublisherKey(path)
