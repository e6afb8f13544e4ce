"""The manifest describes the package's environments and needs truthfully."""

from __future__ import annotations

import re
import sys
from typing import Any

from gem.core import Env
from gem.entry_points import load, name_of
from gem.errors import GemError
from gem.ids import normalized_distribution, parse_id
from gem.migration import distribution_of
from gem_testing.clause import IMPORTABLE, NAMESPACES, REQUIREMENTS, clauses_of
from gem_testing.clauses.residue import changed_setting, changed_variable
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.imports import imports_of
from gem_testing.outcomes import NotTested, Violation

__all__ = ["CLAUSES", "HEAVY"]

HEAVY = frozenset(
    {
        *("datasets", "docker", "jax", "math_verify", "matplotlib", "mcp", "nltk", "pandas", "pyarrow"),
        *("reasoning_gym", "requests", "scipy", "sklearn", "spacy", "sympy", "tensorflow", "torch", "transformers"),
    }
)
"""Libraries that take long to import, so that an environment loads them on first use."""

_LOCAL = re.compile(r"^\(?'?(127\.|::1|localhost|0\.0\.0\.0|None)|^b?'?(localhost|127\.|::1|None)")


def ids(under_test: EnvUnderTest) -> None:
    """The id follows the grammar, and lies in a namespace that the package claims by an entry point."""
    parsed = parse_id(under_test.spec.id)
    if parsed.namespace not in (under_test.namespaces or ()):
        claimed = ", ".join(sorted(under_test.namespaces or ())) or "none"
        raise Violation(
            f"the id {under_test.spec.id!r} lies in the namespace {parsed.namespace!r}, and the package claims "
            f"{claimed}; add "
            'it to [project.entry-points."gem.envs"], or correct the id'
        )


def entry_points(under_test: EnvUnderTest) -> None:
    """The entry point names an environment, and the reference policy's a policy."""
    target = _loaded(under_test.spec.entry_point, "entry_point")
    if isinstance(target, type) and not issubclass(target, Env):
        raise Violation(
            f"entry_point = {name_of(under_test.spec.entry_point)!r} is not a gem.Env; derive the class from it"
        )
    if not callable(target):
        raise Violation(f"entry_point = {name_of(under_test.spec.entry_point)!r} cannot be called; name the class")
    if under_test.spec.reference_policy is None:
        return
    policy = _loaded(under_test.spec.reference_policy, "reference_policy")
    for method in ("reset", "act"):
        if not callable(getattr(policy, method, None)):
            raise Violation(
                f"reference_policy = {under_test.spec.reference_policy!r} has no method {method}; derive it from "
                "gem.Policy"
            )


def imports(under_test: EnvUnderTest) -> None:
    """Importing it is quiet and light: no output, thread, connection, changed setting or heavy library."""
    seen, (out, err) = under_test.probe.seen["imported"], under_test.probe.output_at_import
    module = name_of(under_test.spec.entry_point).partition(":")[0]
    if out or err:
        raise Violation(f"importing {module} printed {(out or err).strip()[:80]!r}; print nothing")
    if seen["threads"]:
        raise Violation(f"importing {module} started the thread {seen['threads'][0]!r}; start it on first use")
    heavy = sorted(HEAVY.intersection(seen["modules"]))
    if heavy:
        raise Violation(f"importing {module} loads {', '.join(heavy)}; import that inside the function that uses it")
    untouched, before = under_test.probe.seen["untouched"], under_test.probe.seen["before"]
    changed = changed_variable(untouched, before) or changed_setting(untouched, before)
    if changed:
        raise Violation(f"importing {module}: {changed}; change nothing of the process")
    if seen["draws"]:
        raise Violation(f"importing {module} seeds or draws from the process's random generator; use a random.Random")
    network = _connections(seen["events"])
    if network:
        raise Violation(f"importing {module} connects to {network}; connect on first use")


def dependencies(under_test: EnvUnderTest) -> None:
    """The package declares every library that it imports as a dependency."""
    assert under_test.manifest is not None  # the clause needs both
    assert under_test.requirements is not None
    always = {_project(line) for line in under_test.requirements if not re.search(r";.*\bextra\b", line)}
    somehow = {_project(line) for line in under_test.requirements}
    own = name_of(under_test.spec.entry_point).partition(".")[0].partition(":")[0]
    for found in imports_of(under_test.manifest.parent):
        if found.top == own or found.top in sys.stdlib_module_names:
            continue
        allowed = somehow if found.late else always
        if found.top == "gem":  # a module of it may be the front door of another package
            providers, likely = set(), distribution_of(found.module)
        else:
            providers, likely = _providers(found.top), normalized_distribution(found.top)
        if likely not in allowed and not providers & allowed:
            who = " or ".join(sorted(providers)) or likely
            name = found.module if found.top == "gem" else found.top
            raise Violation(
                f"{found.file}, line {found.line} imports {name}, and the package does not declare that it "
                f"depends on {who}; add it to the dependencies in pyproject.toml"
            )


def turns(under_test: EnvUnderTest) -> None:
    """It is single-turn or multi-turn, as declared."""
    lengths = [len(episode) for episode in under_test.recorded if episode.ended]
    if not lengths:
        raise NotTested("no episode came to its end", "see contract.ends")
    if under_test.spec.turns == "single" and max(lengths) > 1:
        raise Violation(f'turns = "single", and an episode has {max(lengths)} steps; declare turns = "multi"')
    if under_test.spec.turns == "multi" and max(lengths) == 1:
        lengths += [len(under_test.play_always(under_test.sampled_action, seed, most_steps=2)) for seed in (0, 1, 2)]
        if max(lengths) == 1:
            raise Violation(
                f'turns = "multi", and {len(lengths)} episodes of one step were all seen; declare turns = "single"'
            )


def modality(under_test: EnvUnderTest) -> None:
    """Observations hold the modalities that are declared, and no others."""
    seen: set[str] = set()
    for episode in under_test.recorded:
        for record in episode.records:
            for kind in re.findall(r'"type": "(\w+)"', record.observation) if '"type"' in record.observation else ():
                seen.add({"image_url": "image", "input_audio": "audio", "video_url": "video"}.get(kind, kind))
            if record.observation.startswith('"'):
                seen.add("text")
    extra = sorted((seen & {"image", "audio", "video"}) - set(under_test.spec.modality))
    if extra:
        raise Violation(
            f"observations hold {', '.join(extra)}, and modality is {list(under_test.spec.modality)}; declare it"
        )
    missing = sorted(set(under_test.spec.modality) - seen)
    if missing and seen:
        raise Violation(
            f"modality declares {', '.join(missing)}, which no observation of {len(under_test.recorded)} episodes "
            "held; remove it"
        )


def requirements(under_test: EnvUnderTest) -> None:
    """Its needs while it plays (network, docker, gpu) are declared in requires."""
    events = under_test.probe.seen["events"]
    found = {
        "docker": next((" ".join(event[1:]) for event in events if _is_docker(event)), None),
        "network": _connections(events),
        "gpu": "the GPU" if under_test.probe.seen["gpu"] else None,
    }
    for need, what in found.items():
        if (
            what
            and need not in under_test.spec.requires
            and not (need == "network" and "docker" in under_test.spec.requires)
        ):
            raise Violation(f"it uses {what} while it plays, and requires does not list {need!r}; declare it")


def _loaded(entry_point: Any, key: str) -> Any:
    try:
        return load(entry_point)
    except GemError as error:
        raise Violation(f"{key}: {error}") from error


def _connections(events: list[list[str]]) -> str | None:
    """Return the remote address that a process connected to, or None."""
    for event, *details in events:
        if event == "socket.getaddrinfo" and not _LOCAL.match(details[0]):
            return f"the host {details[0]}"
        if event == "socket.connect" and details[0].startswith("(") and not _LOCAL.match(details[0]):
            return f"the address {details[0]}"
    return None


def _is_docker(event: list[str]) -> bool:
    name, *details = event
    if name == "socket.connect":
        return "docker" in details[0] or "podman" in details[0]
    return name in ("subprocess.Popen", "os.system", "os.posix_spawn") and bool(
        re.search(r"(^|[/\s'\[])(docker|podman)($|[\s',])", " ".join(details))
    )


def _project(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    return normalized_distribution(match[0]) if match else requirement


def _providers(top: str) -> set[str]:
    """Return the installed distributions that contain a top-level module."""
    from gem.discovery import providers_of

    return {normalized_distribution(name) for name in providers_of(top)}


CLAUSES = (
    *clauses_of("manifest", ids, plays=False, by_arguments=True, needs=(NAMESPACES,)),
    *clauses_of("manifest", entry_points, plays=False),
    *clauses_of("manifest", imports, processes=True, needs=(IMPORTABLE,)),
    *clauses_of("manifest", dependencies, plays=False, needs=(REQUIREMENTS,)),
    *clauses_of("manifest", turns, modality, by_arguments=True),
    *clauses_of("manifest", requirements, processes=True, needs=(IMPORTABLE,)),
)
