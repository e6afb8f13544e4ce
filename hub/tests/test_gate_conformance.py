"""Running the kit on wheels: what its record must say, and the whole way from a wheel to a hub."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from wheel_builder import MANIFEST, Wheel

from gem.discovery.manifest import read_specs
from gem_hub import sandbox
from gem_hub.cli.check import check_command
from gem_hub.cli.publish import publish_command
from gem_hub.conformance import _read, check, judge
from gem_hub.errors import HubRefusal
from gem_hub.events import EVENT
from gem_hub.gate import GateResult, examine
from gem_hub.installation import Sources
from gem_hub.policy import HubPolicy
from gem_hub.sandbox import Bounds, Finished
from gem_hub.store import Store
from gem_testing import CLAUSES
from gem_testing.record import KIT

ROOT = Path(__file__).parents[2]
SOUND = Wheel()
NO_POLICY = HubPolicy()
GAMES = ROOT / "packages/gem-envs-games"


def verdict_of(wheel: Wheel) -> GateResult:
    verdict = examine(*wheel.build(), "someone")
    assert verdict.passed, verdict.refusals
    return verdict


def record_of(verdict: GateResult) -> dict[str, Any]:
    """Return a record in which all clauses hold."""
    clauses = [{"clause": c, "outcome": "holds", "message": "", "advice": "", "exempt": False} for c in CLAUSES]
    return {
        "schema": 1,
        "kit": KIT,
        "gem_core": "0.1.0",
        "python": "3.12.0",
        "implementation": "CPython",
        "platform": "Linux x86_64",
        "packages": [
            {
                "distribution": "Toy_Envs",
                "version": "0.1.0",
                "import_name": "toy_envs",
                "namespaces": ["toy"],
                "source_digest": verdict.wheel and verdict.wheel.source_digest("toy_envs"),
                "complete": True,
                "problem": "",
                "environments": [
                    {
                        "id": spec.id,
                        "spec": spec.to_dict(),
                        "clauses": [dict(clause) for clause in clauses],
                        "scores": {},
                        "speed": None,
                        "errors": [],
                    }
                    for spec in verdict.specs
                ],
            }
        ],
    }


class TestRecord:
    """What is read out of a record that was made where a stranger's code ran."""

    @pytest.fixture
    def judged(self, tmp_path: Path) -> Callable[..., list[str]]:
        """The codes of what is wrong with the record of a sound wheel after a change."""

        def judged(
            change: Callable[[dict[str, Any]], object], wheel: Wheel = SOUND, policy: HubPolicy = NO_POLICY
        ) -> list[str]:
            verdict = verdict_of(wheel)
            record = record_of(verdict)
            change(record)
            path = tmp_path / "record.json"
            path.write_text(json.dumps(record), encoding="utf-8")
            checked = judge(path, verdict, policy)
            assert checked.passed == (not checked.refusals)
            return [reason.code for reason in (*checked.refusals, *checked.warnings)]

        return judged

    def test_a_record_in_which_all_holds_passes(self, judged: Callable[..., list[str]]) -> None:
        """Nothing is said against it; the name may be written in any way that installers take."""
        assert judged(lambda record: None) == []

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (lambda record: record["packages"].clear(), "conformance.record"),
            (lambda record: record["packages"][0].update(distribution="other"), "conformance.record"),
            (lambda record: record["packages"][0].update(version="0.0.9"), "conformance.record"),
            (lambda record: record["packages"][0].update(source_digest=None), "conformance.digest"),
            (lambda record: record["packages"][0].update(source_digest="0" * 64), "conformance.digest"),
            (lambda record: record["packages"][0].update(wheel_sha256="0" * 64), "conformance.digest"),
            (lambda record: record["packages"][0]["environments"].pop(), "conformance.record"),
            (lambda record: record.update(kit=KIT - 1), "conformance.record"),
            (lambda record: record.update(more=1), "conformance.record"),
            (lambda record: record["packages"][0]["environments"][0]["clauses"].pop(), "conformance.incomplete"),
            (lambda record: first_clause(record).update(exempt=True), "conformance.record"),
            (lambda record: first_clause(record).update(outcome="violated", message="no"), "conformance.violated"),
        ],
    )
    def test_what_is_missing_or_violated_is_refused(
        self, judged: Callable[..., list[str]], change: Callable[[dict[str, Any]], object], code: str
    ) -> None:
        """Another package, fewer environments or clauses, an exemption of its own making, a violation: each refuses."""
        assert set(judged(change)) == {code}

    def test_a_record_of_another_wheel_is_refused(self, tmp_path: Path) -> None:
        """A sound record of another package, with names and ids changed, is not about the files of this wheel."""
        other = replace(SOUND, files={**SOUND.files, "toy_envs/thing.py": "def nothing(): pass\n"})
        path = tmp_path / "record.json"
        path.write_text(json.dumps(record_of(verdict_of(other))), encoding="utf-8")
        assert [reason.code for reason in judge(path, verdict_of(SOUND)).refusals] == ["conformance.digest"]

    def test_a_record_of_the_author_is_no_run_by_the_hub(self, tmp_path: Path) -> None:
        """The event of a record that was handed in says so, and that of a run in the sandbox is the hub's."""
        verdict = verdict_of(SOUND)
        path = tmp_path / "record.json"
        path.write_text(json.dumps(record_of(verdict)), encoding="utf-8")
        assert judge(path, verdict).event(verdict, "someone").source == "author"
        run = _read(path, Finished(0, "", "jail"), verdict, NO_POLICY).event(verdict, "someone")
        assert (run.source, run.sha256) == ("hub", verdict.sha256)

    def test_the_policy_tolerates_a_clause(self, judged: Callable[..., list[str]]) -> None:
        """A violated clause that the hub tolerates is a warning."""
        policy = HubPolicy(tolerated_clauses={next(iter(CLAUSES)): "known"})
        change = lambda record: first_clause(record).update(outcome="violated", message="no")  # noqa: E731
        assert judged(change, policy=policy) == ["conformance.tolerated"]

    def test_an_exemption_of_the_manifest_is_shown(self, judged: Callable[..., list[str]]) -> None:
        """What a manifest exempts itself from is no secret."""
        clause = next(iter(CLAUSES))
        manifest = MANIFEST.replace(
            "[environment.variants]", f'exempt = {{ "{clause}" = "slow" }}\n[environment.variants]'
        )
        wheel = SOUND.with_files({"toy_envs/environments.toml": manifest})
        change = lambda record: first_clause(record).update(outcome="not tested", message="slow", exempt=True)  # noqa: E731
        assert judged(change, wheel) == ["conformance.exempt"]

    @pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.symlink_to("/etc/hostname")])
    def test_what_is_no_plain_file_is_not_read(self, tmp_path: Path, make: Callable[[Path], object]) -> None:
        """A link to a file of this machine, left in the place of a record, is not followed."""
        path = tmp_path / "record.json"
        make(path)
        assert [reason.code for reason in judge(path, verdict_of(SOUND)).refusals] == ["conformance.record"]


class TestRun:
    """What a run of the kit that went wrong comes to."""

    @pytest.mark.parametrize(("code", "output"), [(3, "boom \x1b[2J"), (-9, ""), (0, "all is well")])
    def test_a_kit_that_leaves_no_record_is_a_refusal(self, code: int, output: str, tmp_path: Path) -> None:
        """However the kit ended, without a record nothing passes, and what it said last is told."""
        checked = _read(tmp_path / "record.json", Finished(code, output, "jail"), verdict_of(SOUND), NO_POLICY)
        (refusal,) = checked.refusals
        assert (checked.passed, refusal.code) == (False, "conformance.failed")
        assert str(refusal).isprintable()

    def test_a_run_without_a_sandbox_is_told(self, tmp_path: Path) -> None:
        """Where nothing kept the code apart, the result says so, and so does the event."""
        verdict = verdict_of(SOUND)
        path = tmp_path / "record.json"
        path.write_text(json.dumps(record_of(verdict)), encoding="utf-8")
        checked = _read(path, Finished(0, "", "none"), verdict, NO_POLICY)
        assert [warning.code for warning in checked.warnings] == ["conformance.unsandboxed"]
        assert checked.event(verdict, "someone").isolation == "none"

    def test_output_that_shows_a_secret_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A message of a clause that holds a token of the publisher is not published, nor in the refusal."""
        monkeypatch.setenv("HF_TOKEN", 'treasure-"of-the-publisher')
        verdict = verdict_of(SOUND)
        record = record_of(verdict)
        first_clause(record)["message"] = 'stolen: treasure-"of-the-publisher'
        path = tmp_path / "record.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        checked = _read(path, Finished(0, "", "jail"), verdict, NO_POLICY)
        (refusal,) = checked.refusals
        assert (checked.passed, refusal.code) == (False, "conformance.secret")
        assert "treasure" not in str(refusal)


def first_clause(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["packages"][0]["environments"][0]["clauses"][0]
    return found


def test_what_has_not_passed_the_gate_is_not_installed(tmp_path: Path) -> None:
    """The kit's runner itself refuses a wheel with anything against it."""
    filename, content = SOUND.with_files({"evil.pth": f"open({str(tmp_path / 'ran')!r}, 'w')"}).build()
    with pytest.raises(HubRefusal, match="not passed the gate"):
        check(examine(filename, content, "someone"), content)


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of the kit and all that it requires, the games and a package fresh from ``gem new``."""
    from devtools.alone import closure
    from devtools.wheels import build_wheels
    from devtools.workspace import requirements

    folder = tmp_path_factory.mktemp("wheels")
    project = folder / "my-puzzles"
    subprocess.run([sys.executable, "-m", "gem", "new", "my-puzzles", "--yes", "--into", str(project)], check=True)
    ours = [ROOT / "packages" / name for name in closure(["gem-testing"], requirements(extras=False))]
    build_wheels(folder, [*ours, GAMES, project])
    return folder


@pytest.mark.slow(reason="builds wheels, installs one with what it needs and runs the kit in a sandbox")
@pytest.mark.xdist_group("gate-wheels")
@pytest.mark.skipif(not GAMES.is_dir(), reason="builds wheels of the other packages of the workspace")
class TestRealWheels:
    """Wheels that a build has made, installed and checked."""

    def test_what_a_build_makes_passes_the_gate(self, links: Path) -> None:
        """The gate has nothing against a package of this repository or one fresh from the scaffold."""
        environments = {}
        # The command and its client are no plugins, and come from the package index alone.
        for path in {*links.glob("*.whl")} - {*links.glob("gem_hub_client-*.whl"), *links.glob("gem_cli-*.whl")}:
            verdict = examine(path.name, path.read_bytes(), "someone")
            assert (verdict.refusals, verdict.warnings) == ((), ())
            environments[path.name.partition("-")[0]] = len(verdict.specs)
        games = len(read_specs(GAMES / "src/gem_envs_games/environments.toml"))
        libraries = dict.fromkeys(("gem_core", "gem_processes", "gem_questions", "gem_rollout", "gem_testing"), 0)
        assert environments == {**libraries, "gem_envs_games": games, "my_puzzles": 6}

    @pytest.mark.nightly
    def test_a_wheel_goes_the_whole_way_into_a_hub(self, links: Path, tmp_path: Path) -> None:
        """A package of a stranger is checked, published and shown with what the kit found, and no exit code lies."""
        (wheel,) = links.glob("my_puzzles-*.whl")
        hub = tmp_path / "hub"
        arguments = [str(wheel), "--hub", str(hub), "--find-links", str(links), "--by", "someone", "--json"]
        result = CliRunner().invoke(publish_command, arguments)
        assert result.exit_code == 0, result.output
        (told,) = json.loads(result.stdout)["wheels"]
        assert told["stage"] == "published"
        assert told["conformance"]["violated"] == told["conformance"]["not_tested"] == 0
        assert told["conformance"]["holds"] == 6 * len(CLAUSES)
        assert told["conformance"]["isolation"] == sandbox.isolation()
        (release,) = json.loads((hub / "envs/my-puzzles.json").read_bytes())["releases"]
        assert release["conformance"][0]["packages"][0]["complete"]
        audits = [environment["attacks"] for environment in release["conformance"][0]["packages"][0]["environments"]]
        outcomes = {attack["outcome"] for audit in audits for attack in audit["results"]}
        assert (len(audits), outcomes) == (6, {"withstood"})
        assert all(environment["example_observation"] for environment in release["environments"])
        before = {path: path.read_bytes() for path in hub.rglob("*") if path.is_file()}
        (again,) = json.loads(CliRunner().invoke(publish_command, arguments).stdout)["wheels"]
        assert again["stage"] == "already published"
        assert {path: path.read_bytes() for path in hub.rglob("*") if path.is_file()} == before
        assert Store(hub).rebuild(check=True) == []

    @pytest.mark.nightly
    def test_a_published_wheel_is_checked_again(self, links: Path, tmp_path: Path) -> None:
        """A wheel that was published unchecked gets its result by `gem hub check`, which then finds nothing missing."""
        (wheel,) = links.glob("my_puzzles-*.whl")
        hub = str(tmp_path / "hub")
        published = CliRunner().invoke(publish_command, [str(wheel), "--hub", hub, "--no-check"])
        assert published.exit_code == 0, published.output
        arguments = ["--hub", hub, "--missing", "--find-links", str(links), "--json"]
        events = CliRunner().invoke(check_command, [*arguments, "--events", str(tmp_path / "results")])
        assert events.exit_code == 0, events.output
        (written,) = (tmp_path / "results").rglob("*.json")
        assert EVENT.validate_json(written.read_bytes(), strict=True).kind == "conformance"
        (told,) = json.loads(CliRunner().invoke(check_command, arguments).stdout)
        assert (told["source"], told["holds"]) == ("hub", 6 * len(CLAUSES))
        assert json.loads(CliRunner().invoke(check_command, arguments).stdout) == []

    def test_code_that_does_harm_is_kept_apart_and_refused(self, links: Path, tmp_path: Path) -> None:
        """A package whose code writes where it may not when it is imported writes nothing, and is refused for it."""
        if sandbox.isolation() == "none":
            pytest.skip("nothing here keeps code apart")
        marker = tmp_path / "ran"
        code = f"open({str(marker)!r}, 'w').close()\nimport gem\n\n\nclass Thing(gem.Env):\n    pass\n"
        wheel = SOUND.with_files({"toy_envs/thing.py": code})
        filename, content = wheel.build()
        checked = check(examine(filename, content, "someone"), content, Sources((str(links),)))
        assert {reason.code for reason in checked.refusals} == {"conformance.violated"}
        assert any("No such file or directory" in reason.message for reason in checked.refusals)
        assert not marker.exists()

    @pytest.mark.nightly
    def test_code_that_never_ends_is_ended(self, links: Path) -> None:
        """A package that hangs when it is imported is refused when time is up."""
        wheel = replace(SOUND, files={**SOUND.files, "toy_envs/__init__.py": "while True:\n    pass\n"})
        filename, content = wheel.build()
        checked = check(examine(filename, content, "someone"), content, Sources((str(links),)), Bounds(seconds=5))
        assert [reason.code for reason in checked.refusals] == ["conformance.time"]
        assert not checked.passed
