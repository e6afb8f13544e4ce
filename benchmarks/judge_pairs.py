"""The agreement of a judge with people on LLMBar's pairs of answers, each shown in both orders.

    python benchmarks/judge_pairs.py LLMBar --longer
    python benchmarks/judge_pairs.py LLMBar --base-url http://127.0.0.1:8000/v1 --model NAME --pairs 100

LLMBar (Zeng et al. 2023, github.com/princeton-nlp/LLMBar) has instructions with two answers, one of which its authors
call better. ``LLMBar`` is a checkout. The judge is that of the reward ``pairwise``; ``--longer`` is a script that reads
the same prompts and prefers the longer record. ``judge_pairs.json`` holds the printed lines that
``docs/grader-errors.md`` shows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

from gem_eval.clients import ScriptedClient
from gem_eval.rewards.judge import Judge, JudgeError
from gem_eval.rewards.pairwise import PairwiseReward
from gem_rollout.trajectory import Trajectory, Transition

PARTS = ("Natural", "Adversarial/Neighbor", "Adversarial/GPTInst", "Adversarial/GPTOut", "Adversarial/Manual")
_RECORD = re.compile(r"<record ([0-9a-f]+)>(.*?)</record \1>", re.DOTALL)


def _longer(messages: list[dict[str, Any]]) -> str:
    """Return a verdict for the longer of two records."""
    first, second = (len(text) for _, text in _RECORD.findall(messages[1]["content"]))
    return json.dumps({"reason": "length", "better": "first" if first > second else "second"})


async def outcomes(reward: PairwiseReward, entries: list[dict[str, Any]]) -> list[str]:
    """Return for each pair: right, wrong, first or second (one position in both orders), other (a tie), unreadable."""

    async def one(entry: dict[str, Any]) -> str:
        pair = [
            Trajectory(None, 0, [Transition(entry["input"], entry[f"output_{number}"], 0.0, True, False, {})])
            for number in (1, 2)
        ]
        try:
            compared = await reward.compare(*(pair if entry["label"] == 1 else pair[::-1]))
        except JudgeError:
            return "unreadable"
        named = {(1.0, 1.0): "right", (0.0, 0.0): "wrong", (1.0, 0.0): "first", (0.0, 1.0): "second"}
        return named.get((compared.shown_first, compared.shown_second), "other")

    return await asyncio.gather(*map(one, entries))


def main() -> None:
    """Print the counts of each part, one JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--longer", action="store_true")
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, help="of each part, drawn with seed 0; all without it")
    parser.add_argument("--max-tokens", type=int, default=4096, help="of one answer of the judge")
    given = parser.parse_args()
    client = ScriptedClient(_longer) if given.longer else None
    for part in PARTS:
        path = given.folder / "Dataset" / "LLMBar" / part / "dataset.json"
        entries = json.loads(path.read_text("utf-8"))
        if given.pairs is not None:
            entries = random.Random(0).sample(entries, min(given.pairs, len(entries)))
        judge = Judge(client=client, base_url=given.base_url, model=given.model, max_tokens=given.max_tokens)
        seen = asyncio.run(outcomes(PairwiseReward(judge=judge), entries))
        counts = {name: seen.count(name) for name in ("right", "wrong", "first", "second", "other", "unreadable")}
        name = "the longer answer" if given.longer else given.model or given.base_url
        print(json.dumps({"judge": name, "part": part, "pairs": len(seen), **counts}))


if __name__ == "__main__":
    main()
