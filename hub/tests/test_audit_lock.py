"""``gem hub audit --lock``: lock files against real hubs, and licences against what is allowed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from client_machine import served
from hypothesis import given
from hypothesis import strategies as st
from toy_hub import make_wheel, publish_wheel, read_wheel

from gem_hub.events import Deprecate, Quarantine, Yank
from gem_hub.store import Store
from gem_hub_client.audit import AuditReport
from gem_hub_client.cli.audit import audit_command
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.licences import checked_licence, permitted
from gem_hub_client.lock_audit import audit_lock
from gem_hub_client.lock_file import read_lock_file

pytestmark = pytest.mark.usefixtures("own_folders")

OTHER = "0" * 64
"""The digest of no file here."""


@pytest.fixture
def digests(store: Store, tmp_path: Path) -> dict[str, str]:
    """Version → sha256 of toy-envs in the hub, which has 0.1.0 under MIT and 0.2.0 under GPL."""
    found = {}
    for version, licence in (("0.1.0", "MIT"), ("0.2.0", "GPL-3.0-only OR LicenseRef-own")):
        wheel = make_wheel(tmp_path / "dist", version=version, metadata=(f"License-Expression: {licence}",))
        publish_wheel(store, wheel)
        found[version] = read_wheel(wheel)[0].sha256
    return found


def lock(folder: Path, *packages: str) -> Path:
    path = folder / "pylock.toml"
    path.write_text('lock-version = "1.0"\ncreated-by = "tests"\n' + "".join(packages), encoding="utf-8")
    return path


def wheels(name: str, version: str, *sha256: str, url: str = "https://files.example") -> str:
    """Return a locked package as installers write one of an index."""
    stem = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    files = ", ".join(f'{{url = "{url}/{stem}", hashes = {{sha256 = "{digest}"}}}}' for digest in sha256)
    return f'[[packages]]\nname = "{name}"\nversion = "{version}"\nwheels = [{files}]\n'


def archive(name: str, version: str, sha256: str) -> str:
    """Return a locked package as installers write one of an address: without a version."""
    url = f"https://files.example/{name.replace('-', '_')}-{version}-py3-none-any.whl"
    return f'[[packages]]\nname = "{name}"\n[packages.archive]\nurl = "{url}"\nhashes = {{sha256 = "{sha256}"}}\n'


def audited(path: Path, *hubs: Path | str, **options: Any) -> AuditReport:
    return audit_lock(read_lock_file(path), path, [hub_at(str(hub)) for hub in hubs], **options)


def kinds(report: AuditReport) -> list[tuple[str, str]]:
    return [(package.name, finding.kind) for package in report.packages for finding in package.findings]


def test_the_hubs_own_files_are_in_order(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """Either form of an entry is recognised by its digest; what no hub has is named, and nothing is said of it."""
    for entry in (wheels, archive):
        path = lock(tmp_path, entry("Toy_Envs", "0.2.0", digests["0.2.0"]), wheels("elsewhere", "1.0", OTHER))
        report = audited(path, store.folder)
        assert (kinds(report), report.sound, report.elsewhere) == ([], True, ("elsewhere",))
        assert [(one.version, one.licence) for one in report.packages] == [("0.2.0", "GPL-3.0-only OR LicenseRef-own")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "packages = []",
        "a = " + "[" * 20_000,
        f"a = {'9' * 5_000}",
        'lock-version = "1.0"\npackages = [5]',
        "\udcff",
    ],
)
def test_what_is_no_lock_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    """However odd or deep the file, the command names it and says how to write one."""
    path = tmp_path / "pylock.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = CliRunner().invoke(audit_command, ["--lock", str(path)])
    assert isinstance(done.exception, SystemExit), done.exception
    assert "is no lock file of PEP 751" in done.output
    assert "gem hub lock" in done.output


def test_a_newer_release_is_told(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """The locked release is superseded by the one that the hub offers, and not by a yanked one."""
    path = lock(tmp_path, archive("toy-envs", "0.1.0", digests["0.1.0"]))
    report = audited(path, store.folder)
    assert kinds(report) == [("toy-envs", "superseded")]
    assert report.sound
    store.add_event(Yank(name="toy-envs", by="someone", version="0.2.0", reason="too slow"))
    assert kinds(audited(path, store.folder)) == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (wheels("toy-envs", "0.2.0", OTHER), "expected sha256"),
        (archive("toy-envs", "0.2.0", OTHER), "expected sha256"),
        (wheels("toy-envs", "0.2.0", "RIGHT", OTHER), "expected sha256"),
        (wheels("toy-envs", "0.2.0", "RIGHT", ""), "found none"),
        (wheels("toy-envs", "0.2.0", "OLDER"), "expected sha256"),
        (wheels("toy-envs", "9.0", "RIGHT"), "has no release 9.0"),
        ('[[packages]]\nname = "toy-envs"\n', "has no release ?"),
        ('[[packages]]\nname = "toy-envs"\nversion = "0.2.0"\n', "found none"),
        ('[[packages]]\nname = "toy-envs"\nversion = "0.2.0"\ndirectory = {path = "../toys"}\n', "locked to sources"),
        ('[[packages]]\nname = "toy-envs"\nvcs = {type = "git", url = "https://x/y", commit-id = "1"}\n', "to sources"),
    ],
)
def test_another_file_than_the_hubs_fails(
    tmp_path: Path, store: Store, digests: dict[str, str], entry: str, reason: str
) -> None:
    """A package that a hub has must be its file of just that version, and no other one besides."""
    text = entry.replace("RIGHT", digests["0.2.0"]).replace("OLDER", digests["0.1.0"])
    report = audited(lock(tmp_path, text), store.folder)
    changed = [one for one in report.packages[0].findings if one.kind == "changed"]
    assert len(changed) == 1
    assert reason in changed[0].message
    assert not report.sound


def test_a_yank_or_quarantine_of_what_is_locked_fails(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """A yank counts for its version alone, a quarantine for all, a deprecation is only told."""
    old, new = (lock_of(tmp_path, version, digests) for version in ("0.1.0", "0.2.0"))
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason="loses rewards"))
    assert kinds(audited(old, store.folder)) == [("toy-envs", "yanked"), ("toy-envs", "superseded")]
    assert not audited(old, store.folder).sound
    assert kinds(audited(new, store.folder)) == []
    store.add_event(Deprecate(name="toy-envs", by="someone", reason="use better-envs"))
    assert kinds(audited(new, store.folder)) == [("toy-envs", "deprecated")]
    assert audited(new, store.folder).sound
    store.add_event(Quarantine(name="toy-envs", by="someone", reason="steals keys"))
    assert ("toy-envs", "quarantined") in kinds(audited(new, store.folder))
    assert not audited(new, store.folder).sound


def lock_of(folder: Path, version: str, digests: dict[str, str]) -> Path:
    (folder / version).mkdir()
    return lock(folder / version, archive("toy-envs", version, digests[version]))


def test_each_of_several_versions_is_compared(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """A lock file for several Pythons may have a package twice, and the fault may be in the second one."""
    text = wheels("toy-envs", "0.2.0", digests["0.2.0"]), wheels("toy-envs", "0.1.0", OTHER)
    assert ("toy-envs", "changed") in kinds(audited(lock(tmp_path, *text), store.folder))
    assert ("toy-envs", "changed") in kinds(audited(lock(tmp_path, *text[::-1]), store.folder))


def test_a_hub_that_cannot_say_fails(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """Packages that the hub lacks now, and a hub that does not answer beside one that does, are no "in order"."""
    sound = lock_of(tmp_path, "0.2.0", digests)
    report = audited(sound, store.folder, tmp_path / "nowhere")
    assert kinds(report) == [("toy-envs", "unproved")]
    assert not report.sound
    with pytest.raises(HubError):
        audited(sound, tmp_path / "nowhere")
    with served(store.folder) as url:
        gone = lock(tmp_path, wheels("gone-envs", "1.0", OTHER, url=f"{url}/files/00"))
        assert kinds(audited(gone, url)) == [("gone-envs", "changed")]


def test_licences_that_are_not_allowed_fail(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """Of an OR one side is enough; the licences of other indexes' packages are said to be unknown."""
    path = lock(tmp_path, archive("toy-envs", "0.2.0", digests["0.2.0"]), wheels("elsewhere", "1.0", OTHER))
    for allowed, sound in ((["mit"], False), (["gpl-3.0-only"], True), (["licenseref-own", "mit"], True), ([], True)):
        report = audited(path, store.folder, allowed=allowed)
        assert report.sound is sound
        assert ("toy-envs", "licence") not in kinds(report) or not sound
        assert any("licences of 1 packages" in text for text in report.notes) is bool(allowed)


def test_exit_codes(tmp_path: Path, store: Store, digests: dict[str, str]) -> None:
    """0 in order, 1 with a finding that counts, 2 where the lock file or the options are not to be understood."""
    run = CliRunner().invoke
    hub = ["--hub", str(store.folder)]
    sound = str(lock_of(tmp_path, "0.2.0", digests))
    bad = str(lock(tmp_path, archive("toy-envs", "0.2.0", OTHER)))
    (tmp_path / "no.toml").write_text("lock-version = '2.0'\npackages = []")
    (tmp_path / "odd.toml").write_text("packages = 3")
    assert run(audit_command, ["--lock", sound, *hub]).exit_code == 0
    assert run(audit_command, ["--lock", sound, "--allow-licence", "MIT", *hub]).exit_code == 1
    found = run(audit_command, ["--lock", bad, "--json", *hub])
    assert (found.exit_code, json.loads(found.stdout)["sound"]) == (1, False)
    for options in (["--lock", str(tmp_path / "none.toml")], ["--allow-licence", "MIT"], ["--lock", "no.toml"]):
        assert run(audit_command, [*options, *hub]).exit_code == 2
    for name in ("no.toml", "odd.toml"):
        assert run(audit_command, ["--lock", str(tmp_path / name), *hub]).exit_code == 2
    assert run(audit_command, ["--lock", sound, "--allow-licence", "MIT OR X", *hub]).exit_code == 2


LICENCES = ("MIT", "Apache-2.0", "GPL-2.0+", "LicenseRef-Own.1", "GPL-2.0-only WITH Classpath-exception-2.0")
EXPRESSIONS = st.recursive(
    st.sampled_from(LICENCES).map(lambda name: (name, f"({name!r} in allowed)")),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "or", "OR"]), inner).map(
        lambda parts: (
            f"( {parts[0][0]}) {parts[1]} ({parts[2][0]})",
            f"({parts[0][1]} {parts[1].lower()} {parts[2][1]})",
        )
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_an_expression_means_what_its_truth_table_says(expression: tuple[str, str]) -> None:
    """For every set of allowed licences, AND, OR, WITH and brackets give what Python's own operators give."""
    written, meaning = expression
    for allowed in itertools.chain.from_iterable(itertools.combinations(LICENCES, n) for n in (0, 1, 2, 4)):
        expected = eval(meaning, {"allowed": allowed})
        assert permitted(written, [checked_licence(name) for name in allowed]) is expected


def test_and_binds_closer_than_or() -> None:
    """``A OR B AND C`` is A, or both of the others."""
    assert permitted("MIT OR X AND Y", ["mit"])
    assert not permitted("X AND Y OR MIT", ["y"])
    assert not permitted("MIT WITH e", ["mit"])


@given(st.text(alphabet="MITXand or with()+,\n\x00é", max_size=30))
def test_what_is_no_expression_is_not_allowed(text: str) -> None:
    """No text ends in an error, and a licence never named allows nothing."""
    assert permitted(text, ["never"]) is False


@pytest.mark.parametrize("text", ["", "MIT MIT", "MIT OR", "(MIT", "MIT)", "AND", "MIT AND OR X", "(" * 5000 + "MIT"])
def test_half_an_expression_is_not_allowed(text: str) -> None:
    """What is cut off or doubled states no licence."""
    assert not permitted(text, ["mit", "x"])
