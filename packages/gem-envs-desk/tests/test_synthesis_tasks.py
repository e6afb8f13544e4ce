"""Tasks made from descriptions: sound, playable, and thrown away with the reason where they are not sound."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from foreign_descriptions import openapi_examples
from made_packages import check_installed, written
from synthesis_documents import bicycles, library, library_spec

from gem.errors import ArgumentError, GemError
from gem.policies import Policy
from gem_envs_desk.checks import check_task
from gem_envs_desk.reference import DeskPolicy, call_text
from gem_envs_desk.synthesis.draft_calls import DraftCalls
from gem_envs_desk.synthesis.drafting import Draft
from gem_envs_desk.synthesis.errors import DescriptionError
from gem_envs_desk.synthesis.making import MadeTasks, collected, service_tasks
from gem_envs_desk.synthesis.record_descriptions import RecordDescriber
from gem_envs_desk.synthesis.seeding import seeded_records
from gem_envs_desk.synthesis.service_domain import ServiceDomain
from gem_envs_desk.synthesis.service_env import ServiceEnv
from gem_envs_desk.synthesis.store_spec import StoreSpec
from gem_envs_desk.synthesis.task_list import TaskList
from gem_envs_desk.synthesis.tool_graph import ToolGraph
from gem_envs_desk.synthesis.tool_list import spec_of_tools
from gem_envs_desk.task import DeskCall, DeskTask, Slot

BICYCLES = spec_of_tools(bicycles(), "bikes.json")
COUNT = 24


def spec_of(name: str) -> StoreSpec:
    return library_spec() if name == "library" else BICYCLES


@cache
def made(name: str) -> MadeTasks:
    return service_tasks(spec_of(name), COUNT, seed=0)


@pytest.fixture(params=["library", "bicycles"])
def domain(request: pytest.FixtureRequest) -> ServiceDomain:
    return ServiceDomain(spec_of(request.param), made(request.param).tasks)


def earned(domain: ServiceDomain, actions: Any, user: str, level: int, split: str) -> float:
    """The return of one episode on the first task of a level and split."""

    class Env(ServiceEnv):
        folder = Path()

    Env.domain = domain  # type: ignore[assignment]
    with Env(user=user, level=level, split=split) as env:
        observation, info = env.reset(seed=0, options={"task": 0})
        policy: Policy[str, str] = DeskPolicy(env)
        policy.reset(observation, info)
        total, over = 0.0, False
        while not over:
            action = policy.act(observation, info) if actions is None else actions.pop(0)
            observation, reward, terminated, truncated, info = env.step(action)
            total, over = total + reward, terminated or truncated
        return total


def test_made_tasks_are_sound(domain: ServiceDomain) -> None:
    """As many as wanted, all different, each with gold 1, doing nothing 0, no call to spare, one end."""
    tasks = list(domain.tasks.all())
    assert len(tasks) == COUNT
    assert len({(task.text, json.dumps(task.state)) for _, _, task in tasks}) == COUNT
    assert [fault for _, _, task in tasks for fault in check_task(domain, task)] == []


@pytest.mark.parametrize("user", ["none", "scripted"])
def test_tasks_are_played_as_they_were_checked(domain: ServiceDomain, user: str) -> None:
    """The reference earns 1.0; ending at once, or leaving out a call, earns 0.0; with either kind of user."""
    for level, split in domain.tasks.places():
        task = domain.task(0, level, split)
        assert earned(domain, None, user, level, split) == 1.0
        end = '<tool_call>{"name": "end_conversation", "arguments": {}}</tool_call>'
        assert earned(domain, [end], user, level, split) == 0.0
        for number, call in enumerate(task.gold):
            if domain.spec.operations[call.tool].writes:
                others = [call_text(one) for one in (*task.gold[:number], *task.gold[number + 1 :])]
                assert earned(domain, [*others, end], user, level, split) == 0.0


def test_a_seed_decides_the_tasks() -> None:
    """The same seed gives the same tasks, another one others."""
    first, again, other = (service_tasks(library_spec(), 6, seed=seed).tasks.to_text() for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_train_and_test_share_no_state(domain: ServiceDomain) -> None:
    """The initial states of the splits are different."""
    states = {split: set[str]() for split in ("train", "test")}
    for _, split, task in domain.tasks.all():
        states[split].add(json.dumps(task.state))
    assert not states["train"] & states["test"]


def test_tasks_survive_their_file(domain: ServiceDomain) -> None:
    """A list read from its text has the same tasks, odd line ends in values included."""
    level, split, task = next(iter(domain.tasks.all()))
    odd = replace(task, text="one\u2028two\u0085three")
    tasks = TaskList({(level, split): [odd], **{place: [task] for place in domain.tasks.places() if place[0] > 1}})
    again = TaskList.from_text(tasks.to_text())
    assert list(again.all()) == list(tasks.all())


def test_missing_tasks_are_named() -> None:
    """The message names the levels and splits that exist."""
    with pytest.raises(ArgumentError, match="no tasks of level 3 in the split 'test'; there are level 1 of train"):
        TaskList({(1, "train"): [made("library").tasks.task(0, 1, "train")]}).task(0, 3, "test")


def test_walks_merge_into_an_acyclic_graph() -> None:
    """Each call comes after those whose answers it needs, and goals share their look-ups."""
    graph = ToolGraph(BICYCLES)
    shared = 0
    for seed in range(40):
        rng = Random(seed)
        draft = Draft(BICYCLES, graph, seeded_records(BICYCLES, rng), rng)
        for _ in range(3):
            draft.add_goal()
        assert len(draft.gold) == 3
        for number, node in enumerate(draft.nodes):
            assert all(earlier < number for earlier in node.after)
        users = [number for node in draft.nodes for number in node.after]
        shared += len(users) != len(set(users))
    assert shared > 0


@pytest.mark.parametrize("name", ["library", "bicycles"])
def test_words_fit_one_record(name: str) -> None:
    """No other record of the state has the values by which a request names one."""
    spec = spec_of(name)
    graph, described = ToolGraph(spec), 0
    for seed in range(30):
        rng = Random(seed)
        state = seeded_records(spec, rng)
        describer = RecordDescriber(spec, graph, state, rng, DraftCalls())
        for kind in spec.types.values():
            for record in state[kind.name]:
                target = describer.described(kind, record, 0)
                if " whose " in target.words:
                    described += 1
                    alike = [one for one in state[kind.name] if all(one.get(of) == record[of] for of in target.used)]
                    assert alike == [record]
                    assert all(str(record[of]).lower() in target.words.lower() for of in target.used)
    assert described > 50


def spoilt(change: Any) -> Any:
    """A maker of drafts that spoils a sound task."""
    sound = made("library").tasks

    def drafted(level: int, split: str, rng: Random) -> DeskTask:
        task: DeskTask = change(next(one for at, of, one in sound.all() if (at, of) == (2, "train") and one.facts))
        return task

    return drafted


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda task: replace(task, gold=task.gold[:-1], facts=()), None),
        (lambda task: replace(task, gold=(), facts=()), "nothing: doing nothing is enough"),
        (lambda task: replace(task, gold=(*task.gold, DeskCall("list_loans"))), "necessary: a call of the solution"),
        (lambda task: replace(task, gold=(*task.gold, DeskCall("get_book", {"bookId": -1}))), "gold: a call"),
        (lambda task: replace(task, script=replace(task.script, slots=(
            Slot("x", ("x",), f"It is {task.facts[0].value}."),))), "leak: the user's words"),
    ],
)  # fmt: skip
def test_unsound_drafts_are_thrown_away_with_the_reason(change: Any, reason: str | None) -> None:
    """A draft whose solution does nothing, or more or less than it must, is counted under its reason."""
    if reason is None:  # a gold that lacks what a sound task had is another sound task, or none
        change = lambda task: replace(task, gold=task.gold[:1], facts=())  # noqa: E731
        reason = "necessary|nothing|it is there already"
    with pytest.raises(DescriptionError, match=f"tasks passed the checks; the others: .*({reason})"):
        collected(ServiceDomain(library_spec()), spoilt(change), 2, 0)


def test_a_document_becomes_a_package(tmp_path: Path) -> None:
    """The command alone writes a package with tasks, which names what it left out."""
    source = tmp_path / "library.json"
    source.write_text(json.dumps(library()))
    report = written(tmp_path / "town-desk", str(source), "--tasks", "12")
    assert report["environments"] == ["town-desk:TownLibrary-v0"]
    package = tmp_path / "town-desk"
    readme = (package / "README.md").read_text()
    assert "12 verified tasks" in readme
    assert "`burn_book`: it takes no JSON body that says what it changes." in readme
    assert '"gem-envs-desk[synthesis]>=' in (package / "pyproject.toml").read_text()
    tasks = TaskList.from_text((package / "src/town_desk/tasks.jsonl").read_text(encoding="utf-8"))
    spec = StoreSpec.from_json(json.loads((package / "src/town_desk/world.json").read_text(encoding="utf-8")))
    assert [fault for _, _, task in tasks.all() for fault in check_task(ServiceDomain(spec), task)] == []
    for path in package.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


@pytest.mark.parametrize(
    ("source", "content", "message"),
    [
        ("a.json", "{}", "no description that worlds are made from"),
        ("a.json", "[]", "must hold a list of tools"),
        ("a.yaml", "openapi: 3.1.0", "not valid OpenAPI"),
        ("a.json", '{"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {}}', "no operations"),
        ("a.txt", "", "--from takes "),
        ("missing.yaml", None, "there is no file 'missing.yaml'"),
    ],
)
def test_a_bad_source_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, content: str | None, message: str
) -> None:
    """The message says what is wrong, and no folder is left behind."""
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(source).write_text(content)
    with pytest.raises(GemError, match=message):
        written(tmp_path / "my-desk", source)
    assert not (tmp_path / "my-desk").exists()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "document",
    ["3.0/json/petstore.json", "2.0/json/petstore.json", "3.1/json/train-travel.json", "3.0/yaml/petstore.yaml"],
)
def test_published_documents_become_packages(document: str, tmp_path: Path) -> None:
    """60 verified tasks each, by the command alone, from documents that nobody here wrote."""
    report = written(tmp_path / "foreign-desk", str(openapi_examples() / document), "--tasks", "60")
    assert report["summary"][0].startswith("60 tasks passed the checks")


@pytest.mark.nightly
def test_a_made_package_passes_its_own_tests(tmp_path: Path) -> None:
    """Installed into an environment of its own, its tests, gem check and an episode of the reference succeed."""
    document = openapi_examples() / "3.0" / "json" / "petstore.json"
    written(tmp_path / "pet-desk", str(document), "--tasks", "60")
    check_installed(tmp_path / "pet-desk", tmp_path)
