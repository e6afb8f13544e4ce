"""Tasks on a folder of text files: questions about them, and orders to sort, merge, split, rename and correct them."""

from __future__ import annotations

from collections import Counter
from random import Random

from gem_envs_desk.mcp.content import email_of, person
from gem_envs_desk.mcp.folder_task import FolderFamily, FolderTask
from gem_envs_desk.mcp.folder_workspace import FileTree

__all__ = ["FOLDER_FAMILIES"]

_WORDS = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper", "kelp", "ledge",
          "meadow", "nectar", "orchard", "pebble", "quarry", "ridge", "spruce", "thicket", "upland",
          "willow")  # fmt: skip
_SERVICES = ("mail", "search", "billing", "cache", "login", "reports")


def _text(rng: Random, lines: int) -> str:
    return "".join(" ".join(rng.choice(_WORDS) for _ in range(rng.randint(3, 7))) + "\n" for _ in range(lines))


def _names(rng: Random, count: int) -> list[str]:
    return rng.sample(_WORDS, count)


def _logs(rng: Random) -> FolderTask | None:
    level, service = rng.choice(("ERROR", "WARNING")), rng.choice(_SERVICES)
    files: FileTree = {"logs": None}
    count = 0
    for day in rng.sample(range(1, 29), rng.randint(3, 5)):
        lines = []
        for _ in range(rng.randint(8, 20)):
            found, name = rng.choice(("ERROR", "WARNING", "INFO")), rng.choice(_SERVICES)
            message = rng.choice((f"{rng.choice(_WORDS)} failed", f"retry after {level}", "done"))
            lines.append(f"{found} {name}: {message}\n")
            count += found == level and name == service
        files[f"logs/2024-03-{day:02}.log"] = "".join(lines)
    if not count:
        return None
    return FolderTask(
        files,
        f"How many lines in all files of the folder logs are of the level {level} (the first word of a line) and of "
        f"the service {service} (the second)? Answer with the number.",
        files,
        (str(count),),
    )


def _copies(rng: Random) -> FolderTask | None:
    folders, names = _names(rng, 3), _names(rng, 9)
    files: FileTree = dict.fromkeys(folders)
    for name in names:
        files[f"{rng.choice(folders)}/{name}.txt"] = _text(rng, rng.randint(2, 4))
    paths = [path for path in files if files[path] is not None]
    original = rng.choice(paths)
    others = rng.sample([path for path in paths if path != original], rng.randint(2, 4))
    copies, nearly = others[1:], others[0]
    text = files[original]
    assert text is not None
    for path in copies:
        files[path] = text
    files[nearly] = text.replace(text.split()[0], "almost", 1)
    return FolderTask(
        files,
        f"Which other files have exactly the same content as {original}? Answer with their paths, one a line.",
        files,
        tuple(copies),
    )


def _table_question(rng: Random) -> FolderTask | None:
    people = {person(rng): rng.choice(("north", "south", "east")) for _ in range(10)}
    sales = [(rng.choice(list(people)), rng.randint(1, 60)) for _ in range(25)]
    region = rng.choice(("north", "south", "east"))
    total = sum(amount for name, amount in sales if people[name] == region)
    files: FileTree = {
        "people.csv": "name,region\n" + "".join(f"{name},{where}\n" for name, where in people.items()),
        "sales.csv": "name,amount\n" + "".join(f"{name},{amount}\n" for name, amount in sales),
    }
    if not total:
        return None
    text = f"What is the sum of the amounts in sales.csv of all people whose region in people.csv is {region}?"
    return FolderTask(files, f"{text} Answer with the number.", files, (str(total),))


def _by_kind(rng: Random) -> FolderTask | None:
    kinds = rng.sample(("txt", "csv", "md", "log", "ini"), 3)
    files: FileTree = {"inbox": None}
    end: FileTree = {"inbox": None, **dict.fromkeys(kinds)}
    for name in _names(rng, rng.randint(6, 8)):
        kind = rng.choice(kinds)
        files[f"inbox/{name}.{kind}"] = end[f"{kind}/{name}.{kind}"] = _text(rng, 2)
    if {path.rpartition(".")[2] for path in files if "." in path} != set(kinds):
        return None
    return FolderTask(
        files,
        "Sort the files of inbox: for each ending that occurs, make a folder beside inbox whose name is the ending "
        "without the dot, and move the files there under their names. The empty inbox stays.",
        end,
    )


def _merge(rng: Random) -> FolderTask | None:
    name = rng.choice(_WORDS)
    count = rng.randint(3, 12)
    parts = [_text(rng, rng.randint(1, 3)) for _ in range(count)]
    files: FileTree = {"parts": None}
    # Numbers without leading zeros: the order of names is not theirs.
    files |= {f"parts/{name}-{number}.txt": part for number, part in enumerate(parts, 1)}
    end: FileTree = {f"{name}.txt": "".join(parts)}
    return FolderTask(
        files,
        f"The folder parts holds a text in pieces, {name}-1.txt, {name}-2.txt and so on. Join them in the order of "
        f"their numbers, with nothing between them, to the file {name}.txt beside the folder. Then delete "
        "the pieces and the folder.",
        end,
    )


def _split(rng: Random) -> FolderTask | None:
    size, lines = rng.randint(3, 5), rng.randint(11, 18)
    text = _text(rng, lines)
    rows = text.splitlines(keepends=True)
    pieces = ["".join(rows[start : start + size]) for start in range(0, lines, size)]
    end: FileTree = {"chapters": None, "book.txt": text}
    end |= {f"chapters/{number:02}.txt": piece for number, piece in enumerate(pieces, 1)}
    return FolderTask(
        {"book.txt": text},
        f"Split book.txt into files of {size} lines each, the last one with the rest, in a new folder chapters: "
        "01.txt, 02.txt and so on. Leave book.txt as it is.",
        end,
    )


def _rename(rng: Random) -> FolderTask | None:
    files: FileTree = {"reports": None, "reports/readme.txt": "Do not rename this.\n"}
    end = dict(files)
    for word in _names(rng, rng.randint(4, 6)):
        day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(2021, 2024)
        files[f"reports/{word} {day:02}.{month:02}.{year}.txt"] = text = _text(rng, 2)
        end[f"reports/{year}-{month:02}-{day:02} {word}.txt"] = text
    return FolderTask(
        files,
        "Rename the files of reports that end with a date, such as 'amber 05.03.2024.txt', so that they begin with it: "
        "'2024-03-05 amber.txt'.",
        end,
    )


def _deduplicate(rng: Random) -> FolderTask | None:
    folders = _names(rng, 3)
    files: FileTree = dict.fromkeys(folders)
    for name in _names(rng, 8):
        files[f"{rng.choice(folders)}/{name}.txt"] = _text(rng, 3)
    paths = sorted(path for path in files if files[path] is not None)
    for path in rng.sample(paths, 3):
        files[path] = files[rng.choice([other for other in paths if other != path])]
    end = dict(files)
    seen: set[str] = set()
    for path in paths:
        text = files[path]
        assert text is not None
        if text in seen:
            del end[path]
        seen.add(text)
    if end == files:
        return None
    return FolderTask(
        files,
        "Some files have exactly the same content. Of each such group keep the one whose path comes first in the order "
        "of the alphabet, and delete the others. Folders stay, even empty ones.",
        end,
    )


def _summary(rng: Random) -> FolderTask | None:
    groups = _names(rng, 4)
    totals: Counter[str] = Counter()
    files: FileTree = {"months": None}
    for month in range(1, rng.randint(3, 4) + 1):
        rows = [(rng.choice(groups), rng.randint(1, 99)) for _ in range(6)]
        for group, amount in rows:
            totals[group] += amount
        files[f"months/2024-{month:02}.csv"] = "group,amount\n" + "".join(f"{group},{n}\n" for group, n in rows)
    lines = "".join(f"{group},{totals[group]}\n" for group in sorted(totals))
    return FolderTask(
        files,
        "Write a file summary.csv beside the folder months: the header group,total and then one line for each group in "
        "the tables of months, in the order of the alphabet, with the sum of its amounts over all months.",
        {**files, "summary.csv": f"group,total\n{lines}"},
    )


def _configure(rng: Random) -> FolderTask | None:
    old, new = rng.sample((30, 45, 60, 90), 2)
    files: FileTree = {"services": None}
    end: FileTree = {"services": None}
    changed = 0
    for name in _SERVICES:
        stage, seconds = rng.choice(("staging", "production")), rng.choice((old, old, 10))
        config = f"[service]\nname = {name}\nstage = {stage}\ntimeout = {{}}\nretries = {old}\n"
        is_such = stage == "staging" and seconds == old
        changed += is_such
        files[f"services/{name}.ini"] = config.format(seconds)
        end[f"services/{name}.ini"] = config.format(new if is_such else seconds)
    if not changed:
        return None
    return FolderTask(
        files,
        f"In the files of services, set the timeout to {new} wherever the stage is staging and the timeout is {old}. "
        "Nothing else in the files changes.",
        end,
    )


def _contacts(rng: Random) -> FolderTask | None:
    found: dict[str, str] = {}
    files: FileTree = {"notes": None}
    known = [person(rng) for _ in range(6)]
    for number in range(1, 5):
        lines = [_text(rng, 1)]
        for name in rng.sample(known, rng.randint(1, 3)):
            address = found.setdefault(name, email_of(name, known.index(name)))
            lines.append(f"Spoke to {name} <{address}> about {rng.choice(_WORDS)}.\n")
        files[f"notes/{number}.md"] = "".join(lines)
    rows = "".join(f"{found[name]},{name}\n" for name in sorted(found, key=found.__getitem__))
    return FolderTask(
        files,
        "The notes mention people in the form 'Name <address>'. Write a file contacts.csv beside the folder notes: the "
        "header email,name and then one line for each address, once, in the order of the addresses.",
        {**files, "contacts.csv": f"email,name\n{rows}"},
    )


def _clean(rng: Random) -> FolderTask | None:
    folders = _names(rng, 4)
    files: FileTree = dict.fromkeys(folders)
    files[f"{folders[0]}/deep"] = None
    for name in _names(rng, 7):
        files[f"{rng.choice(folders[:3])}/{name}.tmp"] = rng.choice(("", "", _text(rng, 1)))
    end = {path: text for path, text in files.items() if text != ""}
    while True:
        empty = [path for path, text in end.items() if text is None
                 and not any(other.startswith(f"{path}/") for other in end)]  # fmt: skip
        if not empty:
            break
        for path in empty:
            del end[path]
    if not end or not any(text == "" for text in files.values()):
        return None
    text = "Delete all empty files (of no byte), and then every folder that holds nothing, or only such folders."
    return FolderTask(files, text, end)


FOLDER_FAMILIES = {
    "logs": FolderFamily(_logs, "reading"),
    "copies": FolderFamily(_copies, "reading"),
    "tables": FolderFamily(_table_question, "reading"),
    "by_kind": FolderFamily(_by_kind, "changing"),
    "join": FolderFamily(_merge, "changing"),
    "split": FolderFamily(_split, "changing"),
    "rename": FolderFamily(_rename, "changing"),
    "deduplicate": FolderFamily(_deduplicate, "changing"),
    "summary": FolderFamily(_summary, "changing"),
    "configure": FolderFamily(_configure, "changing"),
    "contacts": FolderFamily(_contacts, "changing"),
    "clean": FolderFamily(_clean, "changing"),
}
"""Name → family."""
