"""``envs/NAME.json``: all data on a package, for ``gem hub info``, ``install``, ``lock`` and ``audit``."""

from __future__ import annotations

from typing import Any

from gem_hub.canonical import compact_json
from gem_hub.package import WheelPackage
from gem_hub.records import Release
from gem_hub.results.state import results_of

__all__ = ["details"]


def details(package: WheelPackage) -> bytes:
    """Return ``envs/NAME.json``: releases newest first, environments and variants expanded by id."""
    return compact_json(
        {
            "format": 1,
            "name": package.name,
            "status": package.status,
            "reason": package.reason,
            "owners": package.owners,
            "serial": package.last.serial,
            "releases": [_release(package, release) for release in package.releases],
            **({"results": results} if (results := [one.entry() for one in results_of(package)]) else {}),
        }
    )


def _release(package: WheelPackage, release: Release) -> dict[str, Any]:
    metadata = release.metadata
    checks = package.conformance(release.version)
    provenance = package.provenance(release.version)
    statements = [check.statement for check in checks]
    examples = {environment: text for check in checks for environment, text in check.examples.items()}
    is_shown = bool(release.changelog) and release is (package.offered or package.releases[0])
    return {
        "version": release.version,
        "filename": release.filename,
        # Audits need the digest. Without the address, no client downloads the file.
        "url": "" if package.status == "quarantined" else release.url,
        "sha256": release.sha256,
        "size": release.size,
        "metadata_sha256": release.metadata_sha256,
        "published": release.published,
        "publisher": release.publisher,
        "mode": release.mode,
        "source": release.source,
        "requires_python": metadata.requires_python,
        "requires_gem_core": metadata.requires_gem_core,
        "requires_dist": metadata.requires_dist,
        "hub_requires": release.hub_requires,
        "provides_extra": metadata.provides_extra,
        "licence": metadata.licence,
        "author": metadata.author,
        "summary": metadata.summary,
        "keywords": metadata.keywords,
        "description": metadata.description,
        "description_content_type": metadata.description_content_type,
        "project_urls": metadata.project_urls,
        "yanked": package.yanked.get(release.version),
        "environments": [
            {
                **environment.model_dump(mode="json"),
                **({"example_observation": examples[environment.id]} if environment.id in examples else {}),
            }
            for environment in release.environments
        ],
        "conformance": [check.record for check in checks],
        "conformance_sources": [check.source for check in checks],
        # One changelog tells of all releases, and a page has up to hundreds of them.
        **({"changelog": release.changelog, "changelog_file": release.changelog_file} if is_shown else {}),
        **({"provenance": provenance} if provenance is not None else {}),
        **({"conformance_statements": statements} if any(statements) else {}),
    }
