r"""Sets of questions, and environments that ask one of them an episode.

::

    from gem_questions import Grade, QuestionEnv, open_rows

    class CapitalsEnv(QuestionEnv):
        def __init__(self, dataset: str = "capitals.jsonl", split: str = "train", seed: int | None = None) -> None:
            super().__init__(open_rows(dataset, split=split), seed=seed)

        def question(self, row):
            return f"What is the capital of {row['country']}? Put it in \\boxed{{}}."

        def grade(self, action, row):
            answer = extract_last_boxed_answer(action)
            return Grade(float(answer == row["capital"]), answer == row["capital"], well_formed=answer is not None)

        def reference_answer(self, row):
            return f"\\boxed{{{row['capital']}}}"

Everything here loads on first use; ``pyarrow`` and ``datasets`` only for the files that need them.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
