"""The checklist of a task about a generated world, in the names of the episode: :func:`checklist_of`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gem_envs_qa.atlas.questions import written_forms
from gem_envs_qa.atlas.schema import RELATIONS
from gem_envs_qa.atlas.world import AtlasWorld
from gem_envs_qa.research.report import CONCLUSION, Checklist, ChecklistFact
from gem_envs_qa.research.tasks import PAIRED, ResearchTask

__all__ = ["checklist_of"]


def checklist_of(
    task: ResearchTask,
    world: AtlasWorld,
    told: Callable[[str], str] = lambda text: text,
    numbered: Callable[[str], str] = lambda article: article,
) -> Checklist:
    """Return what a report on a task must state: its facts and its conclusion. It may state what else is true of the
    entities of the task.

    Args:
        task: what the report is about.
        world: of the task.
        told: gives a text of the world the names that the agent knows.
        numbered: gives an article the number under which the agent knows it.
    """
    return Checklist(_facts(task, world, told, numbered))


def _facts(
    task: ResearchTask, world: AtlasWorld, told: Callable[[str], str], numbered: Callable[[str], str]
) -> Iterator[ChecklistFact]:
    def forms(value: object, relation: str | None = None) -> tuple[str, ...]:
        kind = "" if relation is None else RELATIONS[relation].object
        if (relation is None or RELATIONS[relation].leads_on) and isinstance(value, int):
            value = world.entities[value]
        return tuple(map(told, written_forms(value, kind)))  # type: ignore[arg-type]  # an entity or a value of a fact

    items = {(fact.subject, fact.relation): number for number, fact in enumerate(task.must)}
    for fact in task.must:
        if fact.relation in PAIRED:
            items.setdefault((fact.value, fact.relation), items[fact.subject, fact.relation])
    for number in task.met:
        entity = world.entities[number]
        called = forms(number)
        for relation, value in entity.facts.items():
            home = numbered(str(entity.homes.get(relation, number)))
            item = items.get((number, relation))
            yield ChecklistFact(called, relation, forms(value, relation), frozenset({home}), item)
    if task.conclusion is not None:
        word, _, best, articles = task.conclusion
        documents = frozenset(numbered(str(article)) for article in articles)
        yield ChecklistFact((CONCLUSION,), word, forms(best), documents, len(task.must), needs_all=True)
