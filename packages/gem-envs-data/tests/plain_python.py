"""Gold answers computed a second time, in plain Python over rows and triples, without SQL and without the tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from gem_envs_data.graph.expressions import Anchor, Both, Count, Extreme, Hop
from gem_envs_data.sql.tasks import SqlTask

Rows = dict[str, list[dict[str, Any]]]


def decoded(task: SqlTask) -> Rows:
    """The tables with words in place of codes."""
    words = {(field, code): word for field, codes in task.content.codes.items() for word, code in codes.items()}
    return {
        name: [{column: words.get((f"{name}.{column}", value), value) for column, value in row.items()} for row in rows]
        for name, rows in task.content.tables.items()
    }


def holds(tables: Rows, row: dict[str, Any], condition: Any) -> bool:
    for name in condition.path:
        row = next(other for other in tables[name] if other["id"] == row[f"{name}_id"])
    value = row[condition.column]
    match condition.operator:
        case "=":
            return value == condition.value
        case ">":
            return value is not None and value > condition.value
        case "<":
            return value is not None and value < condition.value
        case "year":
            return value.startswith(f"{condition.value}-")
        case "known":
            return value is not None
    return value is None


def answer_of(task: SqlTask) -> list[Any]:
    """The answer to the question of a task; in the order of the question where it has one."""
    query, tables = task.query, decoded(task)
    assert query is not None
    rows = [row for row in tables[query.table] if all(holds(tables, row, one) for one in query.conditions)]
    label, column = task.content.table(query.table).label, query.column
    match query.kind:
        case "count":
            return [len(rows)]
        case "total":
            return [sum(row[column] for row in rows if row[column] is not None)]
        case "distinct":
            return [len({row[column] for row in rows} - {None})]
        case "lookup":
            return [row[column] for row in rows]
        case "names":
            return [row[label] for row in rows]
        case "extreme" | "first":
            ordered = sorted(rows, key=lambda row: row[column], reverse=query.largest)
            return [row[label] for row in ordered[: 1 if query.kind == "extreme" else 3]]
    parents = tables[query.parent]
    name = task.content.table(query.parent).label
    of: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        of[row[f"{query.parent}_id"]].append(row)
    match query.kind:
        case "above_average":
            siblings: dict[int, list[int]] = defaultdict(list)
            for row in tables[query.table]:
                siblings[row[f"{query.parent}_id"]].append(row[column])
            return [
                sum(
                    row[column] * len(all_) > sum(all_)
                    for row in rows
                    for all_ in [siblings[row[f"{query.parent}_id"]]]
                )
            ]
        case "none":
            wanted = [one for one in parents if all(holds(tables, one, test) for test in query.parent_conditions)]
            return [one[name] for one in wanted if not of[one["id"]]]
        case "at_least":
            return [one[name] for one in parents if len(of[one["id"]]) >= query.number]
        case "every":
            values = {row[column] for row in tables[query.table]}
            return [one[name] for one in parents if {row[column] for row in of[one["id"]]} >= values]
    measure = {
        one[name]: sum(row[column] if column else 1 for row in of[one["id"]]) for one in parents if of[one["id"]]
    }
    return [sorted(measure, key=lambda key: measure[key], reverse=True)[query.number]]


def end_of(task: SqlTask) -> dict[str, tuple[set[str], Counter[Any]]]:
    """The tables after the change of a task: columns, and rows as a multiset."""
    change, raw = task.change, {name: [dict(row) for row in rows] for name, rows in task.content.tables.items()}
    assert change is not None
    tables, table = decoded(task), change.table
    chosen = {row["id"] for row in tables[table] if all(holds(tables, row, one) for one in change.conditions)}
    rows = raw[table]

    def id_of(name: str, text: Any) -> int:
        label = task.content.table(name).label
        return next(row["id"] for row in raw[name] if row[str(label)] == text)

    match change.kind:
        case "set" | "raise":
            for row in rows:
                if row["id"] in chosen:
                    row[change.column] = change.number + (row[change.column] if change.kind == "raise" else 0)
        case "remove" | "archive":
            raw[table] = [row for row in rows if row["id"] not in chosen]
            if change.kind == "archive":
                raw[change.column] = [row for row in rows if row["id"] in chosen]
        case "insert":
            references = task.content.table(table).references
            new = {f"{key}_id" if key in references else key: id_of(key, value) if key in references else value
                   for key, value in change.values.items()}  # fmt: skip
            rows.append({"id": max(row["id"] for row in rows) + 1, **new})
        case "counts":
            counts = Counter(row[f"{change.parent}_id"] for row in rows)
            for row in raw[change.parent]:
                row[change.column] = counts[row["id"]]
        case "merge":
            gone, kept = id_of(table, change.values["from"]), id_of(table, change.values["into"])
            raw[table] = [row for row in rows if row["id"] != gone]
            for other in raw.values():
                for row in other:
                    if row.get(f"{table}_id") == gone:
                        row[f"{table}_id"] = kept
        case "normalise":
            new_table = f"{table}_{change.column}"
            ids = {word: n for n, word in enumerate(sorted({row[change.column] for row in rows}), start=1)}
            raw[new_table] = [{"id": n, "name": word} for word, n in ids.items()]
            for row in rows:
                row[f"{new_table}_id"] = ids[row.pop(change.column)]
    return {
        name: (set(found[0]), Counter(tuple(row[key] for key in sorted(row)) for row in found))
        for name, found in raw.items()
    }


def entities_of(expression: Any, triples: list[tuple[str, str, str]], numbers: dict[str, dict[str, int]]) -> Any:
    """The value of a question about a graph, by scans of the triples."""

    def value(part: Any) -> Any:
        match part:
            case Anchor(name=name):
                return {name}
            case Hop(relation=relation, of=inner):
                subjects = value(inner)
                return {other for one, name, other in triples if name == relation.name and one in subjects}
            case Both(one=one, other=other):
                return {name for name in value(one) if name in value(other)}
            case Count(of=inner):
                return len(value(inner))
            case Extreme(attribute=attribute, largest=largest, of=inner):
                return {sorted(value(inner), key=lambda name: numbers[name][attribute.name])[-1 if largest else 0]}
        raise AssertionError(part)

    return value(expression)
