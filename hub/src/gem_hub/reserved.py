"""Names that no package of environments may use: as its own name, as an import name, or as a command."""

from __future__ import annotations

import sys

from gem.discovery import official

__all__ = [
    "COMMANDS",
    "COMMAND_PACKAGE",
    "CORE",
    "IMPORTS",
    "OFFICIAL",
    "PACKAGES",
    "PREFIX",
    "import_name_of",
    "import_names_of",
]

PREFIX = "gem-"
"""Prefixes of official-looking names; only the owners of a hub's official packages may publish new ones."""

_LIBRARIES = ("gem-cli", "gem-core", "gem-hub", "gem-hub-client", "gem-rl", "gem-testing")

COMMAND_PACKAGE = "gem-cli"
"""The only package that may bring the command ``gem``."""
CORE = frozenset({"gem-core", "gem-cli", "gem-hub-client"})
"""gem-core and what it requires itself, which therefore cannot require it."""


def import_name_of(name: str) -> str:
    """Return the conventional import name of a package."""
    return "gem" if name == "gem-core" else name.replace("-", "_")


def import_names_of(name: str) -> frozenset[str]:
    """Return the names that a wheel of this package may be imported by.

    That of gem-core also brings the start of the command, which must lie outside the folder that gem-llm overwrites.
    """
    return frozenset({import_name_of(name), *(("gem_command",) if name == "gem-core" else ())})


OFFICIAL = frozenset(
    {
        *_LIBRARIES,
        *official.COMMANDS.values(),
        *official.MODES.values(),
        *official.WRAPPERS.values(),
        *(name for names in official.NAMESPACES.values() for name in names),
    }
)
"""The packages of GEM itself."""

# Distributions that every installation of an environment package has, and the installers.
_BESIDE = (
    "click filelock importlib-metadata numpy packaging pip pluggy pydantic pydantic-core pytest rich setuptools tomli "
    "typing-extensions uv wheel"
)

_FORMER = "compression annotationlib distutils imp asynchat asyncore"
"""Modules that only some versions of Python have."""
_STANDARD_LIBRARY = sys.stdlib_module_names | frozenset(_FORMER.split())
_COMMON_FOLDERS = (
    "benchmarks bin build config data dist doc docs env envs environments example examples include lib lib64 "
    "scripts share site src test testing tests tools utils"
)

IMPORTS: dict[str, str] = {
    **dict.fromkeys(_COMMON_FOLDERS.split(), "a name that many packages would put their files under"),
    **dict.fromkeys(_STANDARD_LIBRARY, "a module of Python's standard library"),
    **{import_name_of(name): f"what {name} is imported as" for name in _BESIDE.split()},
    **dict.fromkeys(
        ("pkg_resources", "_distutils_hack", "sitecustomize", "usercustomize"), "run at every start of Python"
    ),
    **{module: f"what {name} is imported as" for name in OFFICIAL for module in import_names_of(name)},
}
"""Import name → reason for the reservation."""

PACKAGES: dict[str, str] = {
    **dict.fromkeys((name.replace("_", "-").strip("-").lower() for name in _STANDARD_LIBRARY), "a module of Python"),
    **dict.fromkeys(_BESIDE.split(), "a package that GEM builds on"),
    **dict.fromkeys(("gem", "gem-envs", "python", "hub"), "a name of GEM or Python itself"),
}
"""Package name → its owner."""

_COMMANDS = (
    "apt ar as awk bash bun bzip2 cargo cat cc chmod chown clang cmake conda cp curl cut date dd deno df diff "
    "dig dnf docker du echo emacs env false fd find fish g++ gcc gdb gem git go grep gunzip gzip hatch head "
    "helm hg id install java jupyter kill kubectl ld less ln ls make mamba man mkdir more mv mypy nano nc node "
    "npm npx nvim open openssl passwd patch pdm perl ping pip pip3 pipenv pipx pnpm podman poetry ps pwd py "
    "pytest python python3 pythonw rg rm rmdir rsync ruby ruff rustc scp sed sh sleep sort ssh "
    "su sudo svn tail tar tee terraform test time tmux top touch tox tr true uname uniq unzip uv uvx vi "
    "vim wc wget wheel which who xargs yarn yum zip zsh"
)
COMMANDS = frozenset(_COMMANDS.split())
"""Commands that a script in an environment's ``bin`` would shadow."""
