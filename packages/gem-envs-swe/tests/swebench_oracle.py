"""Run by a Python that has the package swebench: its parsers' and its grader's answers to the logs on stdin, as JSON.

``swebench.harness`` imports engines and clouds when it is imported. A package of that name with the same path, and
without that, leads to the same parsers and the same grader; they need no more than unidiff.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import types
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def main() -> None:
    """Write, for each log, the outcomes and the resolution, or the exception that it raises."""
    swebench: Any = importlib.import_module("swebench")
    harness = types.ModuleType("swebench.harness")
    harness.__path__ = [str(Path(swebench.__file__).parent / "harness")]
    sys.modules["swebench.harness"] = harness
    parsers: Any = importlib.import_module("swebench.harness.log_parsers")
    grading: Any = importlib.import_module("swebench.harness.grading")
    types_: Any = importlib.import_module("swebench.types")
    answers = []
    with TemporaryDirectory() as folder:
        for asked in json.load(sys.stdin):
            spec = types_.TestSpec(
                "x__x-1",
                "",
                [],
                "x/x",
                "1",
                asked["f2p"],
                asked["p2p"],
                f"parse_log_{asked['form']}",
                asked["eval_type"],
            )
            Path(folder, "log").write_text(asked["log"], encoding="utf-8", newline="")
            prediction = {"instance_id": "x__x-1", "model_patch": "x", "model_name_or_path": "x"}
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    outcomes = parsers.PARSER_REGISTRY[spec.log_parser](asked["log"], spec)
                    report = grading.get_eval_report(spec, prediction, f"{folder}/log", include_tests_status=True)[
                        "x__x-1"
                    ]
                    tests = report.get("tests_status")
                    resolution = grading.get_resolution_status(tests) if tests else "RESOLVED_NO"
                    answers.append({"outcomes": outcomes, "resolution": resolution})
                except Exception as error:  # whatever it is, it is the answer
                    answers.append({"exception": type(error).__name__})
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
