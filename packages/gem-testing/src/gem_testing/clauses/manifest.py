"""The manifest tells the truth about what the package offers and needs."""

from __future__ import annotations

import re
import sys
from typing import Any

from gem.arguments import nearest
from gem.core import Env
from gem.entry_points import load, name_of
from gem.errors import GemError, ManifestError
from gem.ids import normalized_distribution, parse_id
from gem_testing.clauses.residue import changed_setting, changed_variable
from gem_testing.imports import imports_of
from gem_testing.outcome import NotTested, Violation, clauses_of
from gem_testing.subject import Subject

__all__ = ["CLAUSES", "HEAVY"]

HEAVY = frozenset(
    {
        *(
            "datasets",
            "docker",
            "jax",
            "math_verify",
            "matplotlib",
            "mcp",
            "nltk",
            "pandas",
            "pyarrow",
            "reasoning_gym",
        ),
        *("requests", "scipy", "sklearn", "spacy", "sympy", "tensorflow", "torch", "transformers"),
    }
)
"""Libraries that take long to import, so that an environment loads them on first use."""

_LOCAL = re.compile(r"^\(?'?(127\.|::1|localhost|0\.0\.0\.0|None)|^b?'?(localhost|127\.|::1|None)")


def schema(subject: Subject) -> None:
    """The manifest is valid to the last key, and exempts from clauses that exist."""
    from gem.manifest import parse
    from gem.manifest_schema import validate
    from gem_testing.clauses import CLAUSES

    if subject.manifest is None:
        raise NotTested("no environments.toml declares it", "check the package: gem check PATH")
    try:
        validate(parse(subject.manifest), subject.manifest)
    except ManifestError as error:
        raise Violation(str(error)) from error
    for name in subject.exemptions:
        if name not in CLAUSES:
            hint = nearest(name, CLAUSES)
            raise Violation(
                f"exempt names {name!r}, which is no clause" + (f"; did you mean {hint!r}?" if hint else "; remove it")
            )


def ids(subject: Subject) -> None:
    """The id follows the grammar, and lies in a namespace that the package claims by an entry point."""
    parsed = parse_id(subject.spec.id)
    if subject.namespaces is None:
        raise NotTested("no package declares it", "check the package: gem check PATH")
    if parsed.namespace not in subject.namespaces:
        claimed = ", ".join(sorted(subject.namespaces)) or "none"
        raise Violation(
            f"the id {subject.spec.id!r} lies in the namespace {parsed.namespace!r}, and the package claims "
            f"{claimed}; add "
            'it to [project.entry-points."gem.envs"], or correct the id'
        )


def entry_points(subject: Subject) -> None:
    """The entry point names an environment, and the reference policy's a policy."""
    target = _loaded(subject.spec.entry_point, "entry_point")
    if isinstance(target, type) and not issubclass(target, Env):
        raise Violation(f"entry_point = {name_of(subject.spec.entry_point)!r} is no gem.Env; derive the class from it")
    if not callable(target):
        raise Violation(f"entry_point = {name_of(subject.spec.entry_point)!r} cannot be called; name the class")
    if subject.spec.reference_policy is None:
        return
    policy = _loaded(subject.spec.reference_policy, "reference_policy")
    for method in ("reset", "act"):
        if not callable(getattr(policy, method, None)):
            raise Violation(
                f"reference_policy = {subject.spec.reference_policy!r} has no method {method}; derive it from "
                "gem.Policy"
            )


def imports(subject: Subject) -> None:
    """Importing it is quiet and light: no output, thread, connection, changed setting or heavy library."""
    seen, (out, err) = subject.probe.seen["imported"], subject.probe.output_at_import
    module = name_of(subject.spec.entry_point).partition(":")[0]
    if out or err:
        raise Violation(f"importing {module} printed {(out or err).strip()[:80]!r}; print nothing")
    if seen["threads"]:
        raise Violation(f"importing {module} started the thread {seen['threads'][0]!r}; start it on first use")
    heavy = sorted(HEAVY.intersection(seen["modules"]))
    if heavy:
        raise Violation(f"importing {module} loads {', '.join(heavy)}; import that inside the function that uses it")
    untouched, before = subject.probe.seen["untouched"], subject.probe.seen["before"]
    changed = changed_variable(untouched, before) or changed_setting(untouched, before)
    if changed:
        raise Violation(f"importing {module}: {changed}; change nothing of the process")
    if seen["draws"]:
        raise Violation(f"importing {module} seeds or draws from the process's random generator; use a random.Random")
    network = _connections(seen["events"])
    if network:
        raise Violation(f"importing {module} connects to {network}; connect on first use")


def dependencies(subject: Subject) -> None:
    """Every library that the package imports stands in its declared dependencies."""
    if subject.manifest is None or subject.requirements is None:
        raise NotTested("its package's dependencies are not known", "check the package: gem check PATH")
    always = {_project(line) for line in subject.requirements if not re.search(r";.*\bextra\b", line)}
    somehow = {_project(line) for line in subject.requirements}
    own = name_of(subject.spec.entry_point).partition(".")[0].partition(":")[0]
    for found in imports_of(subject.manifest.parent):
        if found.top == own or found.top in sys.stdlib_module_names:
            continue
        allowed = somehow if found.late else always
        likely = "gem-core" if found.top == "gem" else normalized_distribution(found.top)
        if likely not in allowed and not (providers := _providers(found.top)) & allowed:
            who = " or ".join(sorted(providers)) or likely
            raise Violation(
                f"{found.file}, line {found.line} imports {found.top}, and the package does not declare that it "
                "depends on "
                f"{who}; add it to the dependencies in pyproject.toml"
            )


def turns(subject: Subject) -> None:
    """It is single-turn or multi-turn, as declared."""
    lengths = [len(played) for played in subject.recorded if played.ended]
    if not lengths:
        raise NotTested("no episode came to its end", "see contract.ends")
    if subject.spec.turns == "single" and max(lengths) > 1:
        raise Violation(f'turns = "single", and an episode has {max(lengths)} steps; declare turns = "multi"')
    if subject.spec.turns == "multi" and max(lengths) == 1:
        lengths += [len(subject.play_always(subject.sampled_action, seed, most_steps=2)) for seed in (0, 1, 2)]
        if max(lengths) == 1:
            raise Violation(
                f'turns = "multi", and {len(lengths)} episodes of one step were all seen; declare turns = "single"'
            )


def modality(subject: Subject) -> None:
    """Observations hold the modalities that are declared, and no others."""
    seen: set[str] = set()
    for played in subject.recorded:
        for shown in played.shown:
            for kind in re.findall(r'"type": "(\w+)"', shown.observation) if '"type"' in shown.observation else ():
                seen.add({"image_url": "image", "input_audio": "audio", "video_url": "video"}.get(kind, kind))
            if shown.observation.startswith('"'):
                seen.add("text")
    extra = sorted((seen & {"image", "audio", "video"}) - set(subject.spec.modality))
    if extra:
        raise Violation(
            f"observations hold {', '.join(extra)}, and modality is {list(subject.spec.modality)}; declare it"
        )
    missing = sorted(set(subject.spec.modality) - seen)
    if missing and seen:
        raise Violation(
            f"modality declares {', '.join(missing)}, which no observation of {len(subject.recorded)} episodes held; "
            "remove it"
        )


def requirements(subject: Subject) -> None:
    """What it needs of the machine while it plays (network, docker, gpu) is declared in requires."""
    events = subject.probe.seen["events"]
    found = {
        "docker": next((" ".join(event[1:]) for event in events if _is_docker(event)), None),
        "network": _connections(events),
        "gpu": "the GPU" if subject.probe.seen["gpu"] else None,
    }
    for need, what in found.items():
        if what and need not in subject.spec.requires and not (need == "network" and "docker" in subject.spec.requires):
            raise Violation(f"it uses {what} while it plays, and requires does not list {need!r}; declare it")


def _loaded(entry_point: Any, key: str) -> Any:
    try:
        return load(entry_point)
    except GemError as error:
        raise Violation(f"{key}: {error}") from error


def _connections(events: list[list[str]]) -> str | None:
    """Return where a process connected to, or None if to nothing beyond this machine."""
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
    """Return the installed distributions that bring a top-level module."""
    from gem.discovery import providers_of

    return {normalized_distribution(name) for name in providers_of(top)}


CLAUSES = (
    *clauses_of("manifest", schema, ids, entry_points, plays=False),
    *clauses_of("manifest", imports, processes=True),
    *clauses_of("manifest", dependencies, plays=False),
    *clauses_of("manifest", turns, modality),
    *clauses_of("manifest", requirements, processes=True),
)
