"""The files of a wheel: whether an installation stays inside the package's own folder."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from packaging.utils import canonicalize_name

from gem_hub.name_filter import well_known_names
from gem_hub.refusal import GateFindings
from gem_hub.reserved import IMPORTS, OFFICIAL, import_name_of, import_names_of
from gem_hub.secret_scan import find_token
from gem_hub.wheel import Wheel

__all__ = ["check_contents"]

_START_UP = (".pth", ".start")
_COMPILED = (".so", ".pyd", ".dll", ".dylib", ".a", ".lib", ".exe", ".bin.elf")
_VERSIONED = re.compile(r".+\.so(\.\d+)+")
"""A shared library with its version, such as libx.so.1."""
_BYTECODE = (".pyc", ".pyo")
_PRIVATE_FILES = {
    *(".env", ".envrc", ".netrc", ".pypirc", ".npmrc", ".git-credentials", "id_rsa", "id_ed25519", "id_ecdsa"),
    *(".pgpass", ".my.cnf", ".htpasswd", ".s3cfg", ".boto", ".dockercfg"),
}
_PRIVATE_FOLDERS = {
    *(".git", ".hg", ".svn", ".ssh", ".aws", ".venv", "venv", ".idea", ".vscode", "node_modules"),
    *(".azure", ".docker", ".gcloud", ".gnupg", ".kube"),
}

_SITE = {"site-packages", "dist-packages"}
"""The folders that installers write into."""

_SCANNED = 2**20
"""The number of bytes of each file that are searched for keys."""


def check_contents(wheel: Wheel, packages: Collection[str], findings: GateFindings) -> None:
    """Add the problems of a wheel's files to the findings.

    Args:
        wheel: the wheel.
        packages: the names of all packages of the hub.
        findings: collects the problems.
    """
    for path in wheel.archive.entries:
        _check_file(wheel, path, findings)
    for name in wheel.top_level:
        _check_top_level(wheel, name, packages, findings)


def _check_file(wheel: Wheel, path: str, findings: GateFindings) -> None:
    *folders, file = path.split("/")
    lower = file.casefold()
    if lower.endswith(_START_UP):
        findings.refuse("content.start-up", path, "would be run at every start of Python; leave it out")
    elif not folders and lower in ("sitecustomize.py", "usercustomize.py"):
        findings.refuse("content.start-up", path, "is imported at every start of Python; leave it out")
    if lower.endswith(_BYTECODE) or "__pycache__" in folders:
        findings.refuse("content.bytecode", path, "is compiled Python, which can differ from its source; leave it out")
    elif lower.endswith(_COMPILED) or _VERSIONED.fullmatch(lower):
        message = "is compiled code in a wheel for every platform; depend on a package that is built for each instead"
        findings.refuse("content.binary", path, message)
    if lower in _PRIVATE_FILES or lower.startswith(".env.") or _PRIVATE_FOLDERS & {f.casefold() for f in folders}:
        findings.refuse("content.private", path, "looks like something private of the author; leave it out")
    kind = find_token(wheel.archive.read(path, _SCANNED))
    if kind is not None:
        findings.refuse("content.secret", path, f"seems to hold {kind}; remove it, and revoke it if it was ever real")


def _check_top_level(wheel: Wheel, name: str, packages: Collection[str], findings: GateFindings) -> None:
    own, names = import_name_of(wheel.name), import_names_of(wheel.name)
    plain = unicodedata.normalize("NFKC", name).casefold()
    if name.casefold().endswith(".data"):
        message = "is copied over commands and files of the environment; put data into the package's own folder"
        findings.refuse("content.data", f"{name}/", message)
    elif name in wheel.archive.entries:
        if not name.casefold().endswith(_START_UP) and plain not in ("sitecustomize.py", "usercustomize.py"):
            findings.refuse("content.top-level", name, f"lies outside a package; move it into {own}/")
    elif plain.removesuffix(".py") in IMPORTS and not (wheel.name in OFFICIAL and name in names):
        advice = "give the package another name" if own in IMPORTS else f"call it {own}/"
        findings.refuse("content.reserved", f"{name}/", f"is {IMPORTS[plain.removesuffix('.py')]}; {advice}")
    elif not name.isascii() or not name.isidentifier():
        findings.refuse("content.top-level", f"{name}/", f"cannot be imported by an ASCII name; call it {own}/")
    elif f"{name}/__init__.py" not in wheel.archive.entries:
        message = "has no __init__.py, so that other packages could add to it; add one, even if it is empty"
        findings.refuse("content.namespace", f"{name}/", message)
    else:
        if name not in names:
            _check_foreign(wheel, name, own, packages, findings)
        if wheel.name not in packages and (place := _installed_by_another(name, wheel.name)):
            message = f"is what another package is imported as ({place} on this machine); give the package another name"
            findings.refuse("content.installed", f"{name}/", message)


def _check_foreign(wheel: Wheel, name: str, own: str, packages: Collection[str], findings: GateFindings) -> None:
    normalised = canonicalize_name(name)
    needed = {canonicalize_name(requirement.name) for requirement in wheel.requirements}
    if normalised in well_known_names():
        message = f"is what a well-known library is called or imported as; call it {own}/"
        findings.refuse("content.foreign", f"{name}/", message)
    elif normalised in packages:
        findings.refuse(
            "content.foreign", f"{name}/", f"is what the package {normalised} is imported as; call it {own}/"
        )
    elif normalised in needed:
        message = f"would lie over the files of {normalised}, which this package needs; call it {own}/"
        findings.refuse("content.foreign", f"{name}/", message)
    else:
        message = f"is not what the name of the package promises, so that somebody else could claim it; call it {own}/"
        findings.refuse("content.import-name", f"{name}/", message)


def _installed_by_another(name: str, package: str) -> str:
    """Return where a module lies that another installed distribution brings; empty if none does. Imports nothing."""
    spec = find_spec(name)
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec is not None else []
    installed = [str(place) for place in places if place and _SITE & {*Path(place).parts}]
    if not installed:
        return ""
    try:
        distribution(package)
    except PackageNotFoundError:
        return installed[0]
    return ""  # it is its own earlier installation
