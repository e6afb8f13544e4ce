"""Right answers to the rows of published data sets: how many of them the environments reward.

The files are those that the authors publish, under names of your choice; their columns say what they are::

    python benchmarks/published_data.py grade_school_math/data/test.jsonl HumanEval.jsonl.gz mbpp.jsonl dev-v1.1.json

The right answer is read from a row here, by other means than GEM's: the text behind ``####`` of GSM8K, the last box of
a worked solution by counting braces, the reference solution of a programming problem, the first right answer of SQuAD.
The wrong answer to each row is that of the row before, where it is another one, or for programs a function that returns
None.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

from gem.errors import DatasetError
from gem_questions import open_rows
from gem_questions.checking import kind_of_rows
from gem_questions.schemas import recognise


def last_box(solution: str) -> str:
    """Return the content of the last box of a solution."""
    start = solution.rindex("\\boxed{") + len("\\boxed{")
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(solution[end], 0)
        end += 1
    return solution[start : end - 1]


def right_answer(row: Mapping[str, Any]) -> str:
    """Return the right answer of a row, in the form of an action."""
    if "canonical_solution" in row:
        return f"```python\n{row['prompt']}{row['canonical_solution']}\n```"
    if "completion" in row and "entry_point" in row:
        return f"```python\n{row['completion']}\n```"
    if "test_list" in row:
        return f"```python\n{row['code']}\n```"
    if isinstance(row.get("answers"), Mapping):
        return f"<answer>{row['answers']['text'][0]}</answer>"
    if "####" in str(row.get("answer")):
        return f"\\boxed{{{row['answer'].split('####')[1].strip().replace(',', '')}}}"
    if "final_answer" in row:
        return f"\\boxed{{{row['final_answer'][0]}}}"
    if "solution" in row and "answer" not in row:
        return f"\\boxed{{{last_box(row['solution'])}}}"
    return f"\\boxed{{{next(row[name] for name in ('answer', 'Answer', 'target') if name in row)}}}"


def environment(kind: str, path: str) -> Any:
    """Return the environment of a kind of questions over a file."""
    if kind == "code":
        from gem_envs_code import CodeEnv

        return CodeEnv(dataset=path)
    if kind == "qa":
        from gem_envs_qa import QaEnv

        return QaEnv(dataset=path)
    from gem_envs_math import MathEnv

    return MathEnv(dataset=path)


def measure(path: str, limit: int) -> tuple[str, int, int, int, int, float]:
    """Return schema, rows, unusable rows, right and wrong answers that earned the reward, and CPU seconds."""
    rows = open_rows(path)
    kind = kind_of_rows(rows)
    assert kind is not None, f"{path} has rows of no known shape"
    schema = recognise(rows[0], kind)
    assert schema is not None
    count = min(limit, len(rows))
    unusable = right = wrong = 0
    begin = time.process_time()
    with environment(kind, path) as env:
        for index in range(count):
            before = right_answer(rows[index - 1 if index else count - 1])
            if kind == "code":
                before = f"```python\ndef {env_function(env, index)}(*_, **__): return None\n```"
            asked = [right_answer(rows[index])]
            if before != asked[0]:
                asked.append(before)
            for said in asked:
                try:
                    env.reset(options={"index": index})
                except DatasetError:
                    unusable += said is asked[0]
                    continue
                earned = env.step(said)[1] == 1.0
                right += earned and said is asked[0]
                wrong += earned and said is not asked[0]
    return schema.name, count, unusable, right, wrong, time.process_time() - begin


def env_function(env: Any, index: int) -> str:
    """Return the name of the function that a row asks for."""
    try:
        env.reset(options={"index": index})
    except DatasetError:
        return "none"
    return env.function(env.row) or "none"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--limit", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print("| set | rows | unusable | right answers rewarded | wrong answers rewarded | CPU ms a row |")
    print("|---|---|---|---|---|---|")
    for file in arguments.files:
        name, rows_read, bad, good, hacked, seconds = measure(file, arguments.limit)
        print(f"| {name} | {rows_read} | {bad} | {good} | {hacked} | {1000 * seconds / rows_read:.2f} |", flush=True)
