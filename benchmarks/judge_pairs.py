"""The agreement of judges with people on LLMBar's pairs of answers.

    python benchmarks/judge_pairs.py LLMBar --longer
    python benchmarks/judge_pairs.py LLMBar --base-url http://127.0.0.1:8000/v1 --model NAME
    python benchmarks/judge_pairs.py LLMBar --base-url transformers:FOLDER --pairs 20 --reward rubric

LLMBar (Zeng et al. 2023, github.com/princeton-nlp/LLMBar) has instructions with two answers, one of which its authors
call better. ``LLMBar`` is a checkout. The reward ``pairwise`` compares the two answers, in both orders; any other
reward scores each alone, and prefers the one with the greater score. ``--longer`` is a script that reads the prompts of
``pairwise`` and prefers the longer record. ``judge_pairs.json`` holds the printed lines that ``docs/grader-errors.md``
shows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

from gem.errors import GemError
from gem_eval.clients import ScriptedClient
from gem_eval.rewards.judge import Judge, JudgeError
from gem_eval.rewards.pairwise import PairwiseReward
from gem_questions.rewards import Reward, make_reward, score_episode_async
from gem_rollout.trajectory import Trajectory, Transition

PARTS = ("Natural", "Adversarial/Neighbor", "Adversarial/GPTInst", "Adversarial/GPTOut", "Adversarial/Manual")
_QUESTION = "Does the agent's answer do precisely what the environment's instruction asks for?"
_CRITERIA = [{"name": "instruction", "description": _QUESTION}]
REWARDS: dict[str, dict[str, Any]] = {
    "pairwise": {},
    "checklist": {"items": [_QUESTION]},
    "rubric": {"criteria": _CRITERIA},
    "process": {"criteria": _CRITERIA},
    "evolving_rubric": {"criteria": _CRITERIA},
}
"""The rewards that ask a judge, and their arguments."""

_NAMED = {(1.0, 1.0): "right", (0.0, 0.0): "wrong", (1.0, 0.0): "first", (0.0, 1.0): "second"}
_OUTCOMES = ("right", "wrong", "first", "second", "other", "unreadable")
_RECORD = re.compile(r"<record ([0-9a-f]+)>(.*?)</record \1>", re.DOTALL)


def _longer(messages: list[dict[str, Any]]) -> str:
    """Return a verdict for the longer of two records."""
    first, second = (len(text) for _, text in _RECORD.findall(messages[1]["content"]))
    return json.dumps({"reason": "length", "better": "first" if first > second else "second"})


async def outcomes(form: str, judge: Judge, entries: list[dict[str, Any]]) -> list[str]:
    """Return for each pair: right, wrong, first or second (one position in both orders), other (a tie), unreadable."""
    reward = make_reward(form, judge=judge, **REWARDS[form])
    try:
        return await asyncio.gather(*(_outcome(reward, entry) for entry in entries))
    finally:
        await judge.close()


async def _outcome(reward: Reward, entry: dict[str, Any]) -> str:
    pair = [
        Trajectory(None, 0, [Transition(entry["input"], entry[f"output_{number}"], 0.0, True, False, {})])
        for number in ((1, 2) if entry["label"] == 1 else (2, 1))
    ]
    if isinstance(reward, PairwiseReward):
        try:
            compared = await reward.compare(*pair)
        except JudgeError as error:
            return _unreadable(error.kind, str(error))
        return _NAMED.get((compared.shown_first, compared.shown_second), "other")
    better, worse = await asyncio.gather(*(score_episode_async(reward, episode) for episode in pair))
    for score in (better, worse):
        if not score.readable:
            return _unreadable(score.metadata["unreadable"], score.reasons[0])
    return "right" if better.value > worse.value else "wrong" if better.value < worse.value else "other"


def _unreadable(kind: str, reason: str) -> str:
    """Return the outcome of an answer that cannot be read; an outage is none of the judge's answers."""
    if kind not in ("malformed", "context"):
        raise JudgeError(kind, reason)
    return "unreadable"


def _drawn(folder: Path, part: str, pairs: int | None) -> list[dict[str, Any]]:
    """Return so many pairs of a part, or all; more pairs hold the same ones and others."""
    entries = json.loads((folder / "Dataset" / "LLMBar" / part / "dataset.json").read_text("utf-8"))
    if pairs is not None:
        random.Random(0).shuffle(entries)
    return list(entries[:pairs])


def _measure(given: argparse.Namespace) -> None:
    """Print the counts of each part, or of some pairs of all of them, one JSON object a line."""
    address = str(given.base_url)
    served = not address.startswith("transformers:")
    named = given.model or (address if served else Path(address).name)
    name = "the longer answer" if given.longer else f"{named}, served" if served else named
    sets = {part: _drawn(given.folder, part, given.pairs) for part in PARTS}
    if given.pairs is not None:
        sets = {f"{given.pairs} pairs of each": [entry for entries in sets.values() for entry in entries]}
    for part, entries in sets.items():
        judge = Judge(
            client=ScriptedClient(_longer) if given.longer else None,
            base_url=given.base_url,
            model=given.model,
            max_tokens=given.max_tokens,
            timeout=given.timeout,
            attempts=given.attempts,
            concurrency=given.concurrency,
            cache=given.cache,
        )
        judge.check()
        seen = asyncio.run(outcomes(given.reward, judge, entries))
        counts = {outcome: seen.count(outcome) for outcome in _OUTCOMES}
        row = {"judge": name, "reward": given.reward, "part": part, "pairs": len(seen), **counts}
        print(json.dumps(row), flush=True)


def main() -> None:
    """Measure a judge; what makes it impossible is one sentence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--longer", action="store_true")
    parser.add_argument("--base-url", help="as for gem eval; transformers:FOLDER is a model in this process")
    parser.add_argument("--model")
    parser.add_argument("--reward", choices=tuple(REWARDS), default="pairwise")
    parser.add_argument("--pairs", type=int, help="of each part, drawn with seed 0, counted together; else all")
    parser.add_argument("--max-tokens", type=int, default=4096, help="of one answer of the judge")
    parser.add_argument("--attempts", type=int, default=3, help="requests until an answer can be read")
    parser.add_argument("--concurrency", type=int, default=16, help="questions at once; 1 costs a processor least")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds of one request to a server")
    parser.add_argument("--cache", type=Path, help="folder of answers; an interrupted run goes on from there")
    given = parser.parse_args()
    if given.longer and given.reward != "pairwise":
        parser.error("--longer reads the prompts of pairwise alone")
    try:
        _measure(given)
    except (GemError, OSError) as error:
        sys.exit(f"{Path(__file__).name}: {error}")


if __name__ == "__main__":
    main()
