"""The files of a package that ``gem new --from`` writes, beside those of every new package."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gem_envs_desk
from gem_envs_desk.synthesis.making import MadeTasks

__all__ = ["class_name", "made_package"]

_LONGEST_NAME = 40
_THREAD = 'exempt = { "residue.threads" = "one thread serves all MCP servers of the process until its end" }'


def class_name(title: str) -> str:
    """Return a name for a class and an id: ``Swagger Petstore - 3.0`` → ``SwaggerPetstore``."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", title)
    while words and (words[-1].isdigit() or words[-1].lower() in ("api", "openapi", "specification", "server", "env")):
        words.pop()
    while words and words[0][0].isdigit():
        words.pop(0)
    name = "".join(word[0].upper() + word[1:] for word in words)[:_LONGEST_NAME]
    return name if name and not keyword.iskeyword(name) else "Service"


def made_package(
    *,
    title: str,
    source: str,
    namespace: str,
    import_name: str,
    base: str,
    module: str,
    world_file: str,
    world: Any,
    made: MadeTasks,
    refused: Mapping[str, str],
    requires: Iterable[str] = (),
    step_seconds: float | None = None,
) -> dict[str, Any]:
    """Return what the hook ``gem_scaffold_sources`` demands; see ``docs/hooks.md``."""
    name = class_name(title)
    env_id = f"{namespace}:{name}-v0"
    # In a docstring and in TOML.
    about = re.sub(r"[^\w .,:()'-]", " ", f"Tasks with the tools of {title}.").strip()[:100]
    package = f"src/{import_name}"
    places = made.tasks.places()
    if module == "server_env":  # every variant that gem check plays starts servers; the others are arguments
        places = [place for place in places if place[1] == "train" or place[0] == 1]
    return {
        "environments": [
            {
                "id": env_id,
                "variants": [_variant(level, split) for level, split in places if _variant(level, split)] + ["user"],
                "row": "calls tools, then reports | 1 the right end state and answers, 0 otherwise",
            }
        ],
        "files": {
            f"{package}/env.py": _template("env.py").format(
                about=about, name=name, base=base, module=module, world=world_file
            ),
            f"{package}/{world_file}": json.dumps(world, indent=1, ensure_ascii=False) + "\n",
            f"{package}/tasks.jsonl": made.tasks.to_text(),
            "tests/test_tasks.py": _tests(import_name, name, played_all=module == "service_env"),
        },
        "manifest": _manifest(env_id, import_name, name, about, places, list(requires), step_seconds),
        "dependencies": [f"gem-envs-desk[synthesis]{_pin()}"],
        "about": _about(source, made, refused),
        "summary": _summary(made, refused),
        "changes": [f"- `{env_id}`, with {len(made.tasks)} tasks."],
    }


def _template(name: str) -> str:
    return (Path(__file__).parent / "templates" / f"{name}.tmpl").read_text(encoding="utf-8")


def _tests(import_name: str, name: str, *, played_all: bool) -> str:
    arguments = "level: int, split: str, number: int, user: str"
    sound, some = "TASKS", "TASKS"
    if not played_all:  # each check and each episode starts servers
        sound, some = "TASKS[::10]", "TASKS[:3]"
    played = f'@pytest.mark.parametrize(("level", "split", "number"), {some})\n'
    return _template("test_tasks.py").format(
        import_name=import_name,
        name=name,
        sound=sound,
        played=played,
        users='["none", "scripted"]',
        arguments=arguments,
    )


def _variant(level: int, split: str) -> str:
    return "-".join([*(["test"] if split == "test" else []), *([f"level{level}"] if level > 1 else [])])


def _manifest(
    env_id: str,
    import_name: str,
    name: str,
    about: str,
    places: list[tuple[int, str]],
    requires: list[str],
    step_seconds: float | None,
) -> str:
    tags = ["domain:general", "skill:tool-use", "skill:planning", "simulated-user", "synthetic"]
    lines = [
        "",
        "[[environment]]",
        f"id = {json.dumps(env_id)}",
        f'entry_point = "{import_name}.env:{name}Env"',
        f"description = {json.dumps(about, ensure_ascii=False)}",
        f"tags = {json.dumps(tags)}",
        "reward_range = [0.0, 1.0]",
        *([f"requires = {json.dumps(requires)}"] if requires else []),
        *([f"step_seconds = {step_seconds}", _THREAD] if step_seconds is not None else []),
        'reference_policy = "gem_envs_desk.reference:DeskPolicy"',
        'reference_sees = "state"',
        "",
        "[environment.variants]",
    ]
    for level, split in places:
        if _variant(level, split):
            settings = [*([f"level = {level}"] if level > 1 else []), *(['split = "test"'] if split == "test" else [])]
            lines.append(f"{_variant(level, split)} = {{ {', '.join(settings)} }}")
    lines.append('user = { user = "scripted" }')
    return "\n".join(lines) + "\n"


def _pin() -> str:
    major, minor = gem_envs_desk.__version__.split(".")[:2]
    return f">={major}.{minor},<{major}.{int(minor) + 1}"


def _about(source: str, made: MadeTasks, refused: Mapping[str, str]) -> list[str]:
    lines = [
        f"Made from {source}: {len(made.tasks)} verified tasks. Each has a solution that works, of which no call can",
        "be left out; doing nothing is not enough; two replays agree; the order of the calls makes no difference.",
    ]
    if refused:
        lines += ["", "These tools of the description are not offered:", ""]
        lines += [f"- `{name}`: {why}." for name, why in refused.items()]
    return lines


def _summary(made: MadeTasks, refused: Mapping[str, str]) -> list[str]:
    lines = [f"{len(made.tasks)} tasks passed the checks, {sum(made.thrown_away.values())} drafts did not."]
    lines += [f"  {number} × {reason}" for reason, number in made.thrown_away.most_common()]
    if refused:
        lines.append(f"{len(refused)} tools of the description are not offered:")
        lines += [f"  {name}: {why}" for name, why in refused.items()]
    return lines
