"""Rows as the published sets have them, by shape; the texts are our own."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["FIX", "ROWS", "without"]

FIX = """\
diff --git a/lib/core.py b/lib/core.py
--- a/lib/core.py
+++ b/lib/core.py
@@ -1,2 +1,2 @@
 def f(a):
-    return a
+    return a + 1
"""
_TEST = FIX.replace("lib/core.py", "tests/test_core.py")
_F2P, _P2P = ["tests/test_core.py::test_f"], ["tests/test_core.py::test_g", "tests/test_core.py::test_h[a b]"]

_SWE_BENCH: dict[str, Any] = {
    "repo": "pallets/flask",
    "instance_id": "pallets__flask-5063",
    "base_commit": "1" * 40,
    "patch": FIX,
    "test_patch": _TEST,
    "problem_statement": "f returns its argument.",
    "hints_text": "",
    "created_at": "2023-04-14T16:36:54Z",
    "version": "2.3",
    "FAIL_TO_PASS": json.dumps(_F2P),
    "PASS_TO_PASS": json.dumps(_P2P),
    "environment_setup_commit": "2" * 40,
}


def without(row: dict[str, Any], *names: str, **values: Any) -> dict[str, Any]:
    """Return a row without some columns, and with others."""
    return {**{name: value for name, value in row.items() if name not in names}, **values}


_COMMIT = {
    "old_commit_hash": "3" * 40,
    "new_commit_hash": "4" * 40,
    "file_diffs": [
        {
            "header": {"file": {"path": "lib/core.py"}},
            "old_file_content": "def f(a):\n    return a\n",
            "new_file_content": "def f(a):\n    return a + 1\n",
        },
        {
            "header": {"file": {"path": "tests/test_core.py"}},
            "old_file_content": "a\n",
            "new_file_content": "b\n",
        },
    ],
}
_BEFORE = (
    "== short test summary info ==\nPASSED r2e_tests/test_1.py::T::test_g\nFAILED r2e_tests/test_1.py::T::test_f - x\n"
)

ROWS: dict[str, dict[str, Any]] = {
    "swe-bench": _SWE_BENCH,
    "swe-bench-multimodal": without(
        _SWE_BENCH,
        image_assets=json.dumps({"problem_statement": ["https://host.invalid/a.png"]}),
        repo="markedjs/marked",
    ),
    "swe-bench-pro": without(
        _SWE_BENCH,
        "FAIL_TO_PASS",
        "PASS_TO_PASS",
        "hints_text",
        "version",
        fail_to_pass=repr(_F2P),
        pass_to_pass=repr(_P2P),
        requirements="f adds one.",
        interface="No new interfaces.",
        repo_language="python",
        before_repo_set_cmd="git checkout x -- tests",
        selected_test_files_to_run="['tests/test_core.py']",
        dockerhub_tag="pallets.flask-abc",
    ),
    "swe-gym": without(_SWE_BENCH, "environment_setup_commit", FAIL_TO_PASS=_F2P, PASS_TO_PASS=_P2P),
    "swe-smith": {
        "instance_id": "pallets__flask.bc098406.func_basic__abc",
        "patch": FIX,
        "FAIL_TO_PASS": _F2P,
        "PASS_TO_PASS": _P2P,
        "image_name": "swebench/swesmith.x86_64.pallets_1776_flask.bc098406",
        "repo": "swesmith/pallets__flask.bc098406",
        "problem_statement": "f adds one too many.",
    },
    "swe-rebench": without(
        _SWE_BENCH,
        "environment_setup_commit",
        FAIL_TO_PASS=_F2P,
        PASS_TO_PASS=_P2P,
        install_config={"log_parser": "parse_log_pytest", "test_cmd": "pytest -rA", "python": "3.9"},
        docker_image="swerebench/sweb.eval.x86_64.pallets_1776_flask-5063",
    ),
    "r2e-gym": {
        "repo_name": "orange3",
        "docker_image": "namanjain12/orange3_final:abc",
        "commit_hash": "4" * 40,
        "parsed_commit_content": json.dumps(_COMMIT),
        "execution_result_content": json.dumps({"old_commit_res_stdout": _BEFORE}),
        "expected_output_json": json.dumps(
            {"T.test_f": "PASSED", "\x1b[1mT.test_g\x1b[0m": "PASSED", "T.test_i": "FAILED"}
        ),
        "problem_statement": "Fix it:\n[ISSUE]\nf returns its argument.\n[/ISSUE]",
    },
    "multi-swe-bench": {
        "org": "cli",
        "repo": "cli",
        "number": 10009,
        "title": "Fix f",
        "body": "closes #1",
        "base": {"label": "cli:trunk", "ref": "trunk", "sha": "5" * 40},
        "resolved_issues": [{"number": 1, "title": "f is wrong", "body": "It returns its argument."}],
        "fix_patch": FIX,
        "test_patch": _TEST,
        "f2p_tests": {"TestF": {"run": "PASS", "test": "FAIL", "fix": "PASS"}},
        "s2p_tests": {},
        "n2p_tests": {"TestN": {"run": "NONE", "test": "NONE", "fix": "PASS"}},
        "p2p_tests": {"TestG": {"run": "PASS", "test": "PASS", "fix": "PASS"}},
    },
    "nemo-gym": {
        "responses_create_params": {
            "input": [],
            "metadata": {
                "instance_id": "pallets__flask-5063",
                "dataset_name": "princeton-nlp/SWE-bench_Verified",
                "problem_statement": "f returns its argument.",
                "container_formatter": "docker://swebench/sweb.eval.x86_64.{instance_id}",
                "instance_dict": json.dumps(without(_SWE_BENCH, "problem_statement")),
            },
        }
    },
}
"""The shape → a row."""
