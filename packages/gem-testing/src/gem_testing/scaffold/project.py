"""A new package as its author describes it, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import gem
from gem_testing.scaffold.sources import MadeFiles
from gem_testing.vocabulary import NAMESPACES, vocabulary

__all__ = ["EXAMPLES", "LICENCES", "ExampleEnvironment", "Project"]

_TEMPLATES = Path(__file__).parent / "templates"
# Neither Python, TOML, YAML, shell nor GitHub's workflows have this form, so the templates need no escapes.
_BLANK = re.compile(r"<<(\w+)>>")


class ExampleEnvironment(NamedTuple):
    """An example environment that a new package can begin with."""

    name: str
    """Name of its class and id, and in lower case of its module and its folder of templates."""
    row: str
    """The agent's action and the reward: two cells of the README's table."""
    needs: tuple[str, ...] = ()
    """The distributions that it imports beside gem-core, in versions of gem-core's."""

    @property
    def module(self) -> str:
        return self.name.lower()


EXAMPLES = {
    "single": ExampleEnvironment("Arithmetic", r"answers a question with `\boxed{number}` | 1 right, 0 wrong"),
    "multi": ExampleEnvironment("Treasure", r"digs with `\boxed{row column}` | 1 found, 0 else, -0.1 no move"),
    "picture": ExampleEnvironment(
        "Squares", r"counts in a picture, `\boxed{number}` | 1 right, 0 wrong", ("gem-questions",)
    ),
}
"""Single turn, several turns, or pictures → the example that shows it."""

LICENCES = {"Apache-2.0": "license-apache-2.0", "MIT": "license-mit"}
"""SPDX expression → template."""


class Project(NamedTuple):
    """The author's choices for a new package. Each field has passed its check in :mod:`gem_testing.scaffold.names`."""

    distribution: str
    import_name: str
    namespace: str
    description: str
    author: str
    licence: str
    examples: tuple[ExampleEnvironment, ...] = ()
    made: MadeFiles | None = None
    """The environments of a package that is made from a description, in place of examples."""

    def environments(self) -> list[str]:
        """Return the ids that the package will offer, without variants."""
        if self.made is not None:
            return [environment["id"] for environment in self.made.environments]
        return [f"{self.namespace}:{example.name}-v0" for example in self.examples]

    @property
    def example_id(self) -> str:
        """An id to begin with."""
        return self.environments()[-1] + ("" if self.made is not None else "-easy")

    def files(self) -> dict[str, str]:
        """Return every file of the package: path relative to its folder, with ``/`` → text."""
        blanks = self._blanks()
        files = {path: _filled(template, blanks) for path, template in self._templates()}
        if self.made is not None:
            files[f"src/{self.import_name}/environments.toml"] += self.made.manifest
            files |= self.made.files
        return files

    def _templates(self) -> Iterator[tuple[str, str]]:
        """Yield each file's path and the templates that form it."""
        package = f"src/{self.import_name}"
        yield ".github/workflows/ci.yml", "ci.yml"
        yield ".gitignore", "gitignore"
        yield ".pre-commit-config.yaml", "pre-commit-config.yaml"
        yield "CHANGELOG.md", "changelog.md"
        yield "LICENSE", LICENCES[self.licence]
        yield "README.md", "readme.md"
        yield "pyproject.toml", "pyproject.toml"
        yield f"{package}/__init__.py", "init.py"
        for example in self.examples:
            yield f"{package}/{example.module}.py", f"{example.module}/module.py"
        tables = (f"{example.module}/environment.toml" for example in self.examples)
        yield f"{package}/environments.toml", " ".join(["environments.toml", *tables])
        yield f"{package}/py.typed", ""
        yield "tests/test_environments.py", "test_environments.py"
        for example in self.examples:
            yield f"tests/test_{example.module}.py", f"{example.module}/test.py"

    def _blanks(self) -> dict[str, str]:
        major, minor = gem.__version__.split(".")[:2]
        rows = [f"| `{env_id}` | {variants} | {row} |" for env_id, variants, row in self._rows()]
        changes = [f"- `{env_id}`, with its variants `-easy` and `-hard`." for env_id in self.environments()]
        pin = f">={major}.{minor},<{major}.{int(minor) + 1}"
        needs = sorted({name for example in self.examples for name in example.needs})
        others = () if self.made is None else self.made.dependencies
        dependencies = [*(f"{name}{pin}" for name in ("gem-core", *needs)), *others]
        return {
            "distribution": self.distribution,
            "wheel_name": self.distribution.replace("-", "_"),
            "import_name": self.import_name,
            "namespace": self.namespace,
            # A dot in a bare key would begin a table within the table.
            "namespace_key": json.dumps(self.namespace) if "." in self.namespace else self.namespace,
            "description": self.description,
            "author": self.author,
            # TOML escapes a line of visible text as JSON does.
            "description_toml": json.dumps(self.description, ensure_ascii=False),
            "author_toml": json.dumps(self.author, ensure_ascii=False),
            "licence": self.licence,
            "year": str(date.today().year),
            "gem_core_pin": pin,
            "dependencies": ", ".join(map(json.dumps, dependencies)),
            "example_id": self.example_id,
            "table": "\n".join(rows),
            "about": "" if self.made is None else "\n\n" + "\n".join(self.made.about),
            "changes": "\n".join(changes if self.made is None else self.made.changes),
            "vocabulary": "\n".join(_vocabulary()),
        }

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, variants and row of each environment, for the README's table."""
        for env_id, one in zip(self.environments(), self.examples, strict=False):
            yield env_id, "`-easy`, `-hard`", one.row
        for environment in () if self.made is None else self.made.environments:
            yield environment["id"], ", ".join(f"`-{name}`" for name in environment["variants"]), environment["row"]


def _vocabulary() -> Iterator[str]:
    """Yield comment lines with the controlled tags, for the author who changes those of the examples."""
    for namespace in NAMESPACES:
        text = f"{namespace}: {', '.join(vocabulary()[namespace])}."
        yield from wrap(text, 118, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def _filled(templates: str, blanks: dict[str, str]) -> str:
    texts = [(_TEMPLATES / f"{name}.tmpl").read_text(encoding="utf-8") for name in templates.split()]
    return _BLANK.sub(lambda blank: blanks[blank[1]], "".join(texts))
