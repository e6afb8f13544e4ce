"""An environment with tools."""

import verifiers as vf
from datasets import Dataset


async def add(first: int, second: int) -> int:
    """Add two whole numbers.

    Args:
        first: a number.
        second: another.
    """
    return first + second


def load_environment() -> vf.Environment:
    """Ask for sums."""
    rows = [{"question": f"What are {a} and {b}? Use the tool.", "answer": str(a + b)} for a, b in ((17, 25), (3, 4))]

    def right(completion: vf.Messages, answer: str) -> float:
        return float(answer in (completion[-1]["content"] or ""))

    return vf.ToolEnv(dataset=Dataset.from_list(rows), tools=[add], rubric=vf.Rubric([right]), max_turns=5)
