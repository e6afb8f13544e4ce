#!/usr/bin/env python3
"""Keep results of runs as signed records of the official index.

    python hub/official_results.py RUN ...
    python hub/official_results.py        # which records are of other sources than those here

RUN is a folder of ``gem eval`` over environments of this repository's packages. A record of each environment is written
to ``hub/results/PACKAGE/ID.json``, the recorded episodes of a model beside it, from where ``hub/official_index.py``
takes both. A record on a released package is bound to the release's wheel and stands among the events of ``hub/index``,
where ``gem hub rebuild`` numbers it. Each is checked as ``gem hub results check`` does: scripted agents play anew,
and the recorded actions of others are played again. Until the first release the records are signed with a development
key, which everybody has and which proves nothing. A record on sources that have changed since can no longer be checked
here; whoever prepares a release plays it again.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import official_index
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gem.registry import spec
from gem_eval.hub_results import PublishedWheel, check_result, results_of_run
from gem_eval.runs import RunFolder
from gem_hub.events import Result
from gem_hub.records import Release
from gem_hub.signing.development import development_key
from gem_hub.storage import HubFolder
from gem_hub.truth import Truth
from gem_hub_client.results.envelope import PublisherKey, open_envelope
from gem_hub_client.results.record import SCRIPTED_AGENTS, payload_of


def main(*runs: str) -> int:
    """Write the records of runs; return the exit code."""
    return 0 if all(keep(RunFolder.open(run)) for run in runs) else 1


def outdated() -> int:
    """Print the records whose environments have other code here; return the exit code."""
    found = 0
    for path in sorted(official_index.RESULTS.glob("*/*.json")):
        record, _ = open_envelope(Result.model_validate_json(path.read_bytes()).envelope)
        if spec(record.environment).source_digest != record.code:
            found += 1
            name = path.relative_to(official_index.ROOT)
            print(f"{name}: {record.environment} {record.label}, {record.harness}: other code")  # noqa: T201  # a script
    return 1 if found else 0


def keep(run: RunFolder, harness: str = "") -> bool:
    """Write the records of a run, unless a check finds a difference; return whether it finds none.

    Args:
        run: a finished run.
        harness: what ran the agent, if its configuration does not say so.
    """
    signer = official_key()
    for result in results_of_run(run, harness=harness):
        release = release_of(result.record.package, result.record.version)
        wheel = PublishedWheel(release.filename, release.sha256) if release else PublishedWheel()
        publisher = release.publisher if release else official_index.PUBLISHER
        record = result.published(wheel, publisher, signer.public)
        checked = check_result(record, result.raw)
        print(f"{record.environment} {record.label}: {checked.verdict} {checked.difference}", flush=True)  # noqa: T201  # a script
        if checked.verdict != "same":
            return False
        event = Result(
            created=record.created,
            name=record.package,
            by=publisher,
            version=record.version,
            sha256=wheel.sha256,
            envelope=signer.envelope(payload_of(record)),
            hosted=record.agent not in SCRIPTED_AGENTS,
        )
        folder = official_index.RESULTS / record.package
        kept = official_index.INDEX / event.path if release else folder / f"{event.id}.json"
        official_index.put(kept, event.to_bytes())
        if event.hosted:
            official_index.put(folder / f"{event.id}.jsonl.gz", gzip.compress(result.raw, 9, mtime=0))
    return True


def release_of(package: str, version: str) -> Release | None:
    """Return the release of a package's version in the official index; None as long as there is none."""
    known = Truth(HubFolder(official_index.INDEX)).package(package)
    return next((one for one in known.releases if one.version == version), None) if known else None


def official_key() -> PublisherKey:
    """Return the key of the official results."""
    private = development_key("results")._private_key  # no other way
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.key")
        path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return PublisherKey(path)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else outdated())
