"""The errors of graders on material that others labelled, with 95 % intervals (Wilson 1927).

    python benchmarks/grader_errors.py --qa-eval EVOUNA --human-eval HumanEval.jsonl.gz --quixbugs QuixBugs [--ifeval]
    python benchmarks/grader_errors.py --qa-eval EVOUNA --judge SmolLM2-135M-Instruct --judged 100
    python benchmarks/grader_errors.py --qa-eval EVOUNA --judge words --judged 100
    python benchmarks/grader_errors.py --new-pairs ORIGINAL [--from-set 13] [--patience 15]

Each option names a checkout or a file; what is not named keeps its rows in ``grader_errors.json``, which
``docs/grader-errors.md`` shows. Sources:

* EVOUNA (Wang et al., "Evaluating Open-QA Evaluation", 2023, github.com/wangcunxiang/QA-Eval): answers to Natural
  Questions and TriviaQA, each judged by people. Of its five models FiD answers with a span, as GEM asks for.
* HumanEval (Chen et al. 2021, github.com/openai/human-eval): its solutions are right.
* QuixBugs (Lin et al. 2017, github.com/jkoppel/QuixBugs): a right and a wrong version of each program.
* ``--ifeval``: IFEval's own checkers as the package if-verifiable has them, on EVOUNA's long answers; without the two
  instructions for which they need data of NLTK.
* ``--judge``: the reward ``checklist`` with the model in a folder, on spans of EVOUNA, half of them right: one question
  with the gold answers in it, no more than three answers of the judge to each, of up to 128 tokens. What was judged
  is written after every sixteen answers, so that a run may be interrupted. ``--judge words`` takes no model but a
  script, on every reward that asks a judge: it reads the same prompts, and says yes, or prefers an answer, if that has
  most words of a right one. Its rows show that the prompt holds what a judge needs, and that its verdicts can be read.
  ``pairwise`` compares the span with ChatGPT's answer, one of which is right.
* ``--new-pairs``: the mathematics grader, math-verify and the original GEM, whose interpreter ORIGINAL is, on
  ``grader_corpus/unseen.json``: pairs of other graders' tests, in the order in which GEM's saw them. ``first`` is the
  number that it had right before anyone looked at what it had wrong. Pairs with a reason against their label, written
  before any verdict, are left out. The rows go into ``grader_new_pairs.json``. With ``--from-set`` the two others grade
  the sets from there; of those before it they keep the figures that they have. With ``--patience`` they have so many
  times their own limits of seconds, for a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import grader_suites

from gem_eval.clients import ScriptedClient
from gem_eval.rewards.judge import Judge, JudgeError
from gem_eval.rewards.pairwise import PairwiseReward
from gem_questions.rewards import make_grader, make_reward, score_episode_async
from gem_questions.schemas import InstructionGold, read_row
from gem_rollout.trajectory import Trajectory, Transition

RESULTS = Path(__file__).with_suffix(".json")
NEW_PAIRS = RESULTS.with_name("grader_new_pairs.json")

JUDGED = 20
"""Right answers that a judge gets, and as many wrong ones."""

FORMS = ("checklist", "rubric", "process", "evolving_rubric", "pairwise")
"""Rewards that ask a judge. A model is measured with the first of them."""

_ASKED = ("Is the agent's answer right?", "Which agent's answer is right?")

_AT_A_TIME = 16
"""Answers that a judge reads side by side."""

_PATIENCE = 36_000.0
"""Seconds for an answer of a model in this process: that a machine is busy is no error of a judge."""

Labelled = tuple[str, bool]
"""A verdict of the grader, and the label."""


def row(grader: str, material: str, labelled: Sequence[Labelled]) -> dict[str, Any]:
    """Return the counts of one grader on one set; its errors are among the answers that it could read."""
    right = [verdict for verdict, label in labelled if label]
    wrong = [verdict for verdict, label in labelled if not label]
    return {
        "grader": grader,
        "material": material,
        "right": len(right),
        "right_unreadable": right.count("unreadable"),
        "right_refused": right.count("different"),
        "wrong": len(wrong),
        "wrong_unreadable": wrong.count("unreadable"),
        "wrong_paid": wrong.count("same"),
    }


def qa_eval(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the errors of the grader ``qa`` on spans and on sentences."""
    grader = make_grader("qa")
    for name, title in (("NQ", "Natural Questions"), ("TQ", "TriviaQA")):
        entries = json.loads((folder / f"{name}.json").read_text("utf-8"))
        proper = [entry for entry in entries if not entry["improper"] and entry["judge_fid"] is not None]
        labelled = [
            (grader.grade(entry["answer_fid"], entry["golden_answer"].split("/")).verdict, bool(entry["judge_fid"]))
            for entry in proper
        ]
        yield row("qa", f"EVOUNA, spans for {title}", labelled)


def judge(model: Path, folder: Path, judged: int) -> Iterator[dict[str, Any]]:
    """Yield the errors of a judge on so many spans of each label, after each batch those until then."""
    entries = json.loads((folder / "NQ.json").read_text("utf-8"))
    random.Random(0).shuffle(entries)
    proper = [entry for entry in entries if not entry["improper"] and entry["judge_fid"] is not None]
    if str(model) == "words":
        name, forms, asked = "a script that compares words", FORMS, Judge(client=ScriptedClient(_told_by_words))
    else:
        asked = Judge(base_url=f"transformers:{model}", max_tokens=128, timeout=_PATIENCE)
        name, forms = model.name, FORMS[:1]
    for form in forms:
        material = "EVOUNA, spans for Natural Questions, half of them right"
        usable = proper
        if form == "pairwise":
            usable = [entry for entry in proper if {entry["judge_fid"], entry["judge_chatgpt"]} == {True, False}]
            material = "EVOUNA, spans for Natural Questions beside ChatGPT's answers, one of them right"
        kinds = [[entry for entry in usable if bool(entry["judge_fid"]) == label][:judged] for label in (True, False)]
        chosen = [entry for pair in zip(*kinds, strict=True) for entry in pair]
        for labelled in _verdicts(form, chosen, asked):
            yield row(f"{form}, {name}", material, labelled)


def _verdicts(form: str, chosen: Sequence[dict[str, Any]], asked: Judge) -> Iterator[list[Labelled]]:
    """Yield the verdicts of a judge and their labels, after each batch those until then."""

    async def batch(entries: Sequence[dict[str, Any]]) -> list[str]:
        return await asyncio.gather(*(_verdict(form, entry, asked) for entry in entries))

    loop = asyncio.new_event_loop()
    labelled: list[Labelled] = []
    for start in range(0, len(chosen), _AT_A_TIME):
        entries = chosen[start : start + _AT_A_TIME]
        verdicts = loop.run_until_complete(batch(entries))
        labelled += [(verdict, bool(entry["judge_fid"])) for verdict, entry in zip(verdicts, entries, strict=True)]
        yield labelled
    loop.run_until_complete(asked.close())
    loop.close()


async def _verdict(form: str, entry: dict[str, Any], asked: Judge) -> str:
    """Return what a reward says of a span: right where it pays more than half."""
    right = " or ".join(map(repr, entry["golden_answer"].split("/")))
    question = f"The right answer is {right}. {_ASKED[form == 'pairwise']}"

    def episode(answer: str) -> Trajectory:
        return Trajectory(None, 0, [Transition(entry["question"] + "?", answer, 0.0, True, False, {})])

    if form == "pairwise":
        try:
            reward = PairwiseReward(question=question, judge=asked)
            value = (await reward.compare(episode(entry["answer_fid"]), episode(entry["answer_chatgpt"]))).value
        except JudgeError:
            return "unreadable"
    else:
        criteria = [{"name": "right", "description": question}]
        arguments: dict[str, Any] = {"items": [question]} if form == "checklist" else {"criteria": criteria}
        score = await score_episode_async(make_reward(form, judge=asked, **arguments), episode(entry["answer_fid"]))
        if not score.readable:
            return "unreadable"
        value = score.value
    return "same" if value > 0.5 else "different"


def _told_by_words(messages: list[dict[str, Any]]) -> str:
    """Return the verdict of a script in the form that the prompt asks for."""
    golds = re.search(rf"The right answer is (.*)\. (?:{'|'.join(map(re.escape, _ASKED))})", messages[0]["content"])
    assert golds is not None
    records = re.findall(r"<record ([0-9a-f]+)>(.*?)</record \1>", messages[1]["content"], re.DOTALL)
    said = [re.findall(r"^\| (.*)$", text, re.MULTILINE)[-1] for _, text in records]
    if "first, second or tie" in messages[0]["content"]:
        one, other = (_likeness(answer, golds[1]) for answer in said)
        better = "first" if one > other else "second" if one < other else "tie"
        return json.dumps({"reason": "by its words", "better": better})
    met = _likeness(said[-1], golds[1]) > 0
    verdict = {"item_1": {"met": met}} if "item_1" in messages[0]["content"] else {"right": {"score": 5 if met else 1}}
    return json.dumps({name: {"reason": "by its words", **value} for name, value in verdict.items()})


def _likeness(answer: str, golds: str) -> int:
    """Return 2 if an answer has most words of a right one, and few others; 1 if it has them among many; else 0."""
    words, found = set(re.findall(r"\w+", answer.casefold())), 0
    for gold in golds.split(" or "):
        wanted = set(re.findall(r"\w+", gold.casefold()))
        common = 2 * len(words & wanted)
        found = max(found, 2 if common > max(len(wanted), len(words)) else int(common > len(wanted)))
    return found


def human_eval(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the errors of the grader ``code`` on the solutions of HumanEval."""
    grader, labelled = make_grader("code"), []
    for line in gzip.decompress(path.read_bytes()).splitlines():
        problem = json.loads(line)
        code = problem["prompt"] + problem["canonical_solution"]
        labelled.append((grader.grade(f"```python\n{code}\n```", read_row(problem, "code").gold).verdict, True))
    yield row("code", "HumanEval, its solutions", labelled)


def quixbugs(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the errors of the grader ``code`` on programs with a bug, and without."""
    grader, labelled = make_grader("code"), []
    for path in sorted((folder / "json_testcases").glob("*.json")):
        cases = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        tests = {
            "fn_name": path.stem,
            "inputs": [given if isinstance(given, list) else [given] for given, _ in cases],
            "outputs": [[wanted] for _, wanted in cases],
        }
        for kind, label in (("correct_python_programs", True), ("python_programs", False)):
            code = (folder / kind / f"{path.stem}.py").read_text()
            labelled.append((grader.grade(f"```python\n{code}\n```", tests).verdict, label))
    yield row("code", "QuixBugs, programs with JSON tests", labelled)


def ifeval(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the errors of IFEval's checkers, measured by the published ones on long answers of models."""
    from if_verifiable.ifeval.instructions_registry import INSTRUCTION_DICT

    rng = random.Random(0)
    entries = json.loads((folder / "NQ.json").read_text("utf-8"))
    texts = [entry[f"answer_{model}"] for entry in entries[:600] for model in ("gpt4", "newbing")]
    grader, labelled = make_grader("qa"), []
    for text in texts:
        if not text or not text.strip():
            continue
        words = text.split()
        for name, arguments in _instructions(rng, words):
            published = INSTRUCTION_DICT[name](name)
            published.build_description(**arguments)
            label = bool(published.check_following(text))
            labelled.append((grader.grade(text, InstructionGold([(name, arguments)])).verdict, label))
    yield row("qa, IFEval", "EVOUNA, long answers, by IFEval's own checkers", labelled)


def _instructions(rng: random.Random, words: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield instructions whose arguments lie near what a text has."""
    relation, word = rng.choice(("less than", "at least")), rng.choice(words).strip(".,()[]?*+\\\"':;")
    plain = word if word.isalnum() else "the"
    near = max(1, len(words) + rng.randint(-3, 3))
    yield "keywords:existence", {"keywords": [plain, rng.choice(("the", "zebra"))]}
    yield "keywords:frequency", {"keyword": plain, "frequency": rng.randint(1, 3), "relation": relation}
    yield "keywords:forbidden_words", {"forbidden_words": [rng.choice((plain, "never", "and"))]}
    yield "keywords:letter_frequency", {"letter": "e", "let_frequency": near // 2 or 1, "let_relation": relation}
    yield "length_constraints:number_words", {"num_words": near, "relation": relation}
    yield "length_constraints:number_paragraphs", {"num_paragraphs": rng.randint(1, 2)}
    yield (
        "length_constraints:nth_paragraph_first_word",
        {
            "num_paragraphs": rng.randint(1, 2),
            "nth_paragraph": 1,
            "first_word": rng.choice((words[0].strip("."), "the")),
        },
    )
    yield "detectable_content:number_placeholders", {"num_placeholders": rng.randint(1, 2)}
    yield "detectable_content:postscript", {"postscript_marker": rng.choice(("P.S.", "P.P.S"))}
    yield "detectable_format:number_bullet_lists", {"num_bullets": rng.randint(1, 3)}
    yield "detectable_format:number_highlighted_sections", {"num_highlights": 1}
    yield "detectable_format:multiple_sections", {"section_spliter": "Section", "num_sections": 1}
    yield "startend:end_checker", {"end_phrase": rng.choice((words[-1], "the end."))}
    for name in (
        "detectable_format:constrained_response", "detectable_format:json_format", "detectable_format:title",
        "combination:two_responses", "startend:quotation", "change_case:english_capital",
        "change_case:english_lowercase", "punctuation:no_comma",
    ):  # fmt: skip
        yield name, {}


def new_pairs(original: str, first_set: int, patience: int) -> Iterator[dict[str, Any]]:
    """Yield what three graders of mathematics have right of each source of new pairs."""
    ours, theirs = grader_suites.ours(), grader_suites.theirs(patience)
    before = {row["source"]: row for row in json.loads(NEW_PAIRS.read_text(encoding="utf-8"))}
    for source, content in grader_suites.pairs_of("unseen").items():
        pairs = [(bool(label), gold, answer) for label, gold, answer, *reason in content["pairs"] if not reason]
        labels = [label for label, *_ in pairs]
        given = [ours(answer, gold) for _, gold, answer in pairs]
        row = {
            "source": source,
            "set": content["round"],
            "pairs": len(pairs),
            "first": content["first_run"],
            "now": _right(given, labels),
        }
        if content["round"] < first_set:
            row |= {name: before[source][name] for name in ("math_verify", "original")}
        else:
            row["math_verify"] = _right([theirs(answer, gold) for _, gold, answer in pairs], labels)
            script = str(Path(__file__).with_name("math_grader.py"))
            done = subprocess.run(
                [original, script, "--side", "theirs", "--seconds", str(patience)],
                input=json.dumps({"pairs": [["", *pair] for pair in pairs], "warm_up": []}),
                capture_output=True,
                text=True,
                check=True,
            )
            row["original"] = _right(json.loads(done.stdout.splitlines()[-1])["verdicts"], labels)
        wrong = [paid for paid, label in zip(given, labels, strict=True) if not label]
        yield row | {"wrong": len(wrong), "wrong_paid": sum(wrong)}


def _right(verdicts: list[bool], labels: list[bool]) -> int:
    return sum(paid == label for paid, label in zip(verdicts, labels, strict=True))


def main() -> None:
    """Measure what the options name, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--qa-eval", "--human-eval", "--quixbugs"):
        parser.add_argument(option, type=Path)
    parser.add_argument("--ifeval", action="store_true", help="with --qa-eval")
    judge_help = 'a folder, or "words"; with --qa-eval, which is then not graded itself'
    parser.add_argument("--judge", type=Path, metavar="MODEL", help=judge_help)
    parser.add_argument("--judged", type=int, default=JUDGED, help="answers of each label that the judge reads")
    parser.add_argument("--new-pairs", metavar="ORIGINAL", help="the interpreter that has the original GEM")
    parser.add_argument("--from-set", type=int, default=1, help="with --new-pairs")
    parser.add_argument("--patience", type=int, default=1, help="with --new-pairs")
    given = parser.parse_args()
    if given.new_pairs:
        rows_of_pairs = list(new_pairs(given.new_pairs, given.from_set, given.patience))
        NEW_PAIRS.write_text(json.dumps(rows_of_pairs, indent=1) + "\n", encoding="utf-8")
    rows = {(old["grader"], old["material"]): old for old in json.loads(RESULTS.read_text()) if RESULTS.exists()}
    measured: list[Iterator[dict[str, Any]]] = []
    if given.judge:
        measured.append(judge(given.judge, given.qa_eval, given.judged))
    elif given.qa_eval:
        measured += [qa_eval(given.qa_eval), *([ifeval(given.qa_eval)] if given.ifeval else ())]
    if given.human_eval:
        measured.append(human_eval(given.human_eval))
    if given.quixbugs:
        measured.append(quixbugs(given.quixbugs))
    for new in chain(*measured):
        rows[new["grader"], new["material"]] = new
        print(json.dumps(new), flush=True)
        RESULTS.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
