"""A single-turn environment in the form that the documentation of verifiers 0.1 teaches."""

import verifiers as vf
from datasets import Dataset

CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima"}


def load_environment(punctual: float = 0.25) -> vf.Environment:
    """Ask for capitals; a full stop at the end is worth something too."""
    rows = [{"question": f"What is the capital of {one}?", "answer": CAPITALS[one]} for one in CAPITALS]
    parser = vf.XMLParser(["capital"], answer_field="capital")

    def right(parser: vf.Parser, completion: vf.Messages, answer: str) -> float:
        return float((parser.parse_answer(completion) or "") == answer)

    def ends_with_a_stop(completion: vf.Messages) -> float:
        return float(completion[-1]["content"].endswith("."))

    rubric = vf.Rubric(funcs=[right, ends_with_a_stop], weights=[1.0, punctual], parser=parser)
    return vf.SingleTurnEnv(
        dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(rows[:1]),
        system_prompt="Answer in <capital> tags.",
        few_shot=[
            {"role": "user", "content": "Of Italy?"},
            {"role": "assistant", "content": "<capital>Rome</capital>"},
        ],
        parser=parser,
        rubric=rubric,
    )
