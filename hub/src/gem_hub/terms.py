"""The required promises of a wheel's metadata: a bounded gem-core, a Python version, a licence, displayable texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from gem_hub.refusal import GateFindings
from gem_hub.reserved import CORE, OFFICIAL, import_names_of
from gem_hub.wheel import Wheel
from gem_hub_client.sanitize import sanitize

__all__ = ["check_terms"]

_UPPER = ("<", "<=", "==", "~=")
_LOWER = (">", ">=", "==", "~=")
_NO_LICENCE = ("", "unknown", "none", "proprietary", "other", "see license", "license")
_MOST_DESCRIPTION = 500_000
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""Marks that turn the direction of text around, and characters that people do not see and models read."""
_SHORT_TEXTS = (
    *("author", "author_email", "maintainer", "maintainer_email", "keywords", "classifiers", "license_expression"),
    *("home_page", "download_url"),
)
"""Fields of one line."""


def check_terms(wheel: Wheel, findings: GateFindings) -> None:
    """Add the missing promises of a wheel's metadata to the findings."""
    for requirement in wheel.requirements:
        if requirement.url is not None:
            message = "names an address, which installers do not follow for what others depend on; name a version"
            findings.refuse("requires.url", f"Requires-Dist: {requirement}", message)
        if any(specifier.operator == "===" for specifier in requirement.specifier):
            message = "compares versions as text ('==='), which ignores PEP 440; write '=='"
            findings.refuse("requires.arbitrary", f"Requires-Dist: {requirement}", message)
    if wheel.name not in CORE:
        _check_gem_core(wheel, findings)
    _check_python(wheel, findings)
    _check_licence(wheel, findings)
    _check_texts(wheel, findings)
    _check_fields(wheel, findings)
    _check_import_names(wheel, findings)


def _check_gem_core(wheel: Wheel, findings: GateFindings) -> None:
    pins = [one for one in wheel.requirements if canonicalize_name(one.name) == "gem-core"]
    always = [one for one in pins if one.marker is None]
    if not always:
        what = "is needed only under a condition" if pins else "is not among what the package needs"
        findings.refuse(
            "requires.gem-core", "Requires-Dist: gem-core", f'{what}; add dependencies = ["gem-core>=0.1,<0.2"]'
        )
    elif not any(_is_bounded(one) for one in always):
        findings.refuse(
            "requires.unbounded",
            f"Requires-Dist: {always[0]}",
            "lets in versions of gem-core that nobody has seen yet; bound it on both sides: gem-core>=0.1,<0.2",
        )


def _is_bounded(requirement: Requirement) -> bool:
    operators = {specifier.operator for specifier in requirement.specifier}
    return bool(operators.intersection(_UPPER)) and bool(operators.intersection(_LOWER))


def _check_python(wheel: Wheel, findings: GateFindings) -> None:
    text = wheel.fields.get("requires_python", "")
    if not text.strip():
        findings.refuse("requires.python", "Requires-Python", 'is missing; add requires-python = ">=3.10"')
        return
    try:
        specifiers = SpecifierSet(text)
    except InvalidSpecifier:
        return  # the specification of metadata has already reported it
    if not any(specifier.operator in _LOWER for specifier in specifiers):
        findings.refuse("requires.python", f"Requires-Python: {text}", "has no lower bound; write '>=3.10'")


def _check_licence(wheel: Wheel, findings: GateFindings) -> None:
    if wheel.fields.get("license_expression"):
        return
    classified = any(line.startswith("License ::") for line in wheel.fields.get("classifiers", []))
    text = " ".join(wheel.fields.get("license", "").split())
    if text.casefold() in _NO_LICENCE and not classified:
        message = (
            'is missing, so that nobody may use the package; add license = "Apache-2.0", or another SPDX expression'
        )
        findings.refuse("licence.missing", "License-Expression", message)
    else:
        message = 'is missing; an older field has the licence, which programs cannot read: use license = "…" (PEP 639)'
        findings.warn("licence.old", "License-Expression", message)


def _check_texts(wheel: Wheel, findings: GateFindings) -> None:
    summary = wheel.fields.get("summary", "")
    if not summary.strip():
        findings.warn(
            "text.summary", "Summary", 'is missing; search shows one sentence a package: add description = "…"'
        )
    elif len(summary) > 500 or sanitize(summary) != summary:
        findings.refuse("text.summary", "Summary", "must be one line of at most 500 visible characters; rewrite it")
    description = wheel.fields.get("description", "")
    if not description.strip():
        findings.warn("text.description", "Description", 'is missing; its page stays empty: add readme = "README.md"')
    elif len(description) > _MOST_DESCRIPTION:
        message = f"has {len(description)} characters, and {_MOST_DESCRIPTION} are the most; shorten the readme"
        findings.refuse("text.description", "Description", message)
    elif found := _HIDDEN.search(description):
        message = f"has the invisible character U+{ord(found[0]):04X}, which shows people something else; remove it"
        findings.refuse("text.description", "Description", message)
    for label, address in wheel.fields.get("project_urls", {}).items():
        if not _is_web_address(address) or sanitize(address + label) != address + label:
            message = "must be a web address without a user name, under a visible label; correct [project.urls]"
            findings.refuse("text.url", f"Project-URL: {label}, {address}", message)
    if wheel.name not in OFFICIAL and "Private :: Do Not Upload" in wheel.fields.get("classifiers", []):
        findings.refuse(
            "text.private", "Classifier", "says 'Private :: Do Not Upload'; take it out if that has changed"
        )


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and bool(parts.netloc) and "@" not in parts.netloc


def _check_fields(wheel: Wheel, findings: GateFindings) -> None:
    """Refuse short texts with characters that move the cursor, turn the direction of text, or cannot be seen."""
    fields: Mapping[str, object] = wheel.fields
    for key in _SHORT_TEXTS:
        value = fields.get(key)
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and sanitize(text) != text for text in texts):
            name = key.replace("_", " ").title().replace(" ", "-")
            findings.refuse("text.field", name, "has control, direction or invisible characters; remove them")


def _check_import_names(wheel: Wheel, findings: GateFindings) -> None:
    """Refuse import names (core metadata 2.5) that the name of the package does not promise."""
    fields: Mapping[str, object] = wheel.fields
    own = import_names_of(wheel.name)
    for key in ("import_names", "import_namespaces"):
        names = fields.get(key)
        for name in names if isinstance(names, list) else ():
            top = str(name).partition(";")[0].strip().partition(".")[0]
            if top and top not in own:
                message = f"says that the package is imported as {top!r}, which it is not called; leave it out"
                findings.refuse("content.import-name", f"METADATA, {key}", message)
