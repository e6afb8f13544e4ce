"""Measures what the scripted customers of the desks understand of messages that others have written to other customers.

    git clone https://github.com/sierra-research/tau-bench
    python benchmarks/desk_understanding.py --tau-bench tau-bench

The messages are those of the agents in tau-bench's published conversations (MIT licence), each text once. What an agent
wanted is told by the answer of the customer there: an e-mail address, a code, a yes, the end of the conversation. Each
message is said as the first one to a customer of every kind of its desk. All messages but those that ask for a datum or
for more speak of orders and bookings that our customers do not have, so that no yes is right. The result has counts and
digests, and no text.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gem_envs_desk.airline.env import AirlineDomain
from gem_envs_desk.domain import DeskDomain, carried_out
from gem_envs_desk.retail.env import RetailDomain
from gem_envs_desk.task import DeskTask
from gem_envs_desk.users.agreement import agrees
from gem_envs_desk.users.scripted import ScriptedUser

DOMAINS: dict[str, DeskDomain] = {"retail": RetailDomain(), "airline": AirlineDomain()}
KINDS = {
    "retail": ("cancel", "refund", "swap", "address", "lost parcel"),
    "airline": ("cancel", "rebook", "upgrade", "bags", "compensation"),
}
CONVERSATIONS = (
    ("historical_trajectories/gpt-4o-airline.json", "airline"),
    ("few_shot_data/MockAirlineDomainEnv-few_shot.jsonl", "airline"),
    ("few_shot_data/MockRetailDomainEnv-few_shot.jsonl", "retail"),
)
_SPEAKER = re.compile(r"^(user|assistant|tool|system): ", re.MULTILINE)
_CODE = re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{6}\b|#W\d{7}")
_ASKS_CODE = re.compile(r"(?:reservation|booking|order|confirmation)\s+(?:ids?|numbers?|codes?)", re.IGNORECASE)
_REQUESTS = re.compile(r"\?|\b(?:provide|share|need|let me know)\b", re.IGNORECASE)
_YES = re.compile(r"\W*(?:yes|sure|please (?:proceed|go ahead)|go ahead|that sounds)\b", re.IGNORECASE)
_OWN = {"retail": r"\bR\d{5}\b", "airline": r"\b[A-Z]{3}\d{3}\b"}
_UNDERSTOOD = {
    "e-mail": r"@mail\.example",
    "name and zip": r"My zip code is|@mail\.example",
    "user id": r"^I cannot tell you that",
    "more or refused": r"^(?:That is not right|Wait, we are not|Is it done|You have not told|Yes, there is|"
    r"There is something|No, that|No\. Bye|That is a pity|That cannot be|Your colleague|I have been a customer)|"
    r"[Gg]oodbye",
    "proposal": r"^(?:No\b|I am not sure what you want to do|What exactly|I cannot say whether|That is not right)",
}
"""What the customer answers who has understood what a message does."""


class Message(NamedTuple):
    """A message of an agent, and what the customer answered to it."""

    desk: str
    text: str
    answer: str


def messages(folder: Path) -> Iterator[Message]:
    """Yield the messages of the published conversations, each text once."""
    seen = set()
    for path, desk in CONVERSATIONS:
        for turns in _conversations(folder / path):
            for (role, text), (next_role, answer) in zip(turns, [*turns[1:], ("", "")], strict=True):
                if role == "assistant" and text.strip() not in ("", "None") and text not in seen:
                    seen.add(text)
                    yield Message(desk, text, answer if next_role == "user" else "")


def _conversations(path: Path) -> Iterator[list[tuple[str, str]]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        for one in json.loads(text):
            # A message with calls is one to a tool.
            yield [
                ("call" if turn.get("tool_calls") else turn["role"], turn.get("content") or "") for turn in one["traj"]
            ]
        return
    for line in text.splitlines():
        _, *parts = _SPEAKER.split(json.loads(line)["messages_display"])
        yield [(role, said.rstrip("\n")) for role, said in zip(parts[::2], parts[1::2], strict=True)]


def meant(message: Message) -> str:
    """Return what a message does, by the answer that it got; "" where that does not tell."""
    answer = message.answer
    if re.search(r"[\w.]+@[\w.]+", answer):
        return "e-mail"
    asks_code = _ASKS_CODE.search(message.text) is not None and _REQUESTS.search(message.text) is not None
    if asks_code and set(_CODE.findall(answer)) - set(_CODE.findall(message.text)):
        return "code"
    if re.search(r"\b[a-z]+_[a-z]+_\d{4}\b", answer):
        return "code" if asks_code else "user id"
    if "zip" in answer.casefold() and re.search(r"\b\d{5}\b", answer):
        return "name and zip"
    if "###STOP###" in answer:
        return "more or refused"
    return "proposal" if _YES.match(answer) else ""


@cache
def task_of(desk: str, kind: str) -> DeskTask:
    """Return the first task of a kind."""
    tasks = (DOMAINS[desk].task(number, 1, "train") for number in range(3000))
    return next(task for task in tasks if task.kind == kind)


def answer(desk: str, kind: str, text: str) -> str:
    """Return what a customer answers to a first message."""
    task = task_of(desk, kind)
    assert task.script is not None
    world = DOMAINS[desk].open(task.state)
    try:
        return ScriptedUser(task.script, lambda call: carried_out(world, call).text, task.aims).reply(text).text
    finally:
        world.close()


def measured(folder: Path, *, show: str = "") -> list[list[str]]:
    """Return the rows of the table: what messages do, their number, and the share of the answers that fit."""
    asked: Counter[str] = Counter()
    understood: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    yeses: Counter[str] = Counter()
    for message in messages(folder):
        does = meant(message)
        pattern = _OWN[message.desk] if does == "code" else _UNDERSTOOD.get(does)
        asked[does] += 1
        for kind in KINDS[message.desk]:
            reply = answer(message.desk, kind, message.text)
            fits = pattern is not None and re.search(pattern, reply) is not None
            answers[does] += 1
            understood[does] += fits
            yeses[does] += agrees(reply)
            if show and does == show and not fits:
                print(f"{kind}: {message.text[:300]!r} -> {reply!r}")
    rows = [
        [does, str(asked[does]), str(answers[does]), f"{understood[does] / answers[does]:.2f}", str(yeses[does])]
        for does in sorted(asked)
        if does
    ]
    told = [does for does in asked if does]
    share = sum(understood[does] for does in told) / sum(answers[does] for does in told)
    rows.append(
        [
            "all of these",
            str(sum(asked[does] for does in told)),
            str(sum(answers[does] for does in told)),
            f"{share:.2f}",
            str(sum(yeses[does] for does in told)),
        ]
    )
    rows.append(["others, of which the answer does not tell", str(asked[""]), str(answers[""]), "–", str(yeses[""])])
    return rows


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tau-bench", type=Path, required=True, help="a checkout of tau-bench")
    parser.add_argument("--show", default="", metavar="KIND", help="print what is not understood of this kind")
    options = parser.parse_args()
    print("| the message asks for | messages | answers | understood | false yes |\n|---|---|---|---|---|")
    for row in measured(options.tau_bench, show=options.show):
        print(f"| {' | '.join(row)} |")
    print("\n| file | sha256 |\n|---|---|")
    for path, _ in CONVERSATIONS:
        print(f"| {path} | {sha256((options.tau_bench / path).read_bytes()).hexdigest()} |")


if __name__ == "__main__":
    main()
