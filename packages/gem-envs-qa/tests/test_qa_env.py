"""Questions of data sets: the published ids, their prompts, and what is accepted."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import gem
import gem_envs_qa
from gem.discovery.manifest import read_specs
from gem.errors import ArgumentError, DatasetError, GemError
from gem_envs_qa import QaEnv
from gem_questions import OraclePolicy

MANIFEST = Path(gem_envs_qa.__file__).with_name("environments.toml")
SPECS = {spec.id: spec for spec in read_specs(MANIFEST, "gem-envs-qa", gem_envs_qa.__version__)}

# As the original registers them.
PUBLISHED: dict[str, tuple[str, str, str]] = {
    "qa:NaturalQuestions": ("axon-rl/NaturalQuestions", "train", "problem"),
    "qa:HotpotQA": ("axon-rl/HotpotQA", "train", "problem"),
    **{f"logic:RuleTaker-d{d}": (f"axon-rl/RuleTaker-d{d}-70k", "train", "question") for d in (0, 1, 2, 3, 5)},
    "eval:QaOpen": ("google-research-datasets/nq_open", "validation", "question"),
    "eval:2Wiki": ("axon-rl/search-eval", "2wiki", "question"),
    "eval:PopQA": ("axon-rl/search-eval", "popqa", "question"),
    "eval:TriviaQA": ("axon-rl/search-eval", "tq", "question"),
    "eval:HotpotQA": ("axon-rl/search-eval", "hotpotqa", "question"),
    "eval:Bamboogle": ("axon-rl/search-eval", "bamboogle", "question"),
    "eval:NaturalQuestions": ("axon-rl/search-eval", "nq", "question"),
    "eval:Musique": ("axon-rl/search-eval", "musique", "question"),
}

ROWS = [
    {"question": "Who wrote it?", "answer": ["Ann Lee", "A. Lee"]},
    {"question": "How many?", "answer": 7},
    {"question": "Is it so?", "answer": "True"},
]


def rows_for(env_id: str) -> list[dict[str, Any]]:
    """Rows in the schema of a data set: answers are one text for logic, lists elsewhere."""
    key = PUBLISHED[env_id][2]
    answers: list[Any] = ["True", "False"] if env_id.startswith("logic") else [["Ann Lee", "A. Lee"], ["Lima"]]
    return [{key: f"Question {number}?", "answer": answer} for number, answer in enumerate(answers)]


def test_every_published_id_is_there_with_its_arguments() -> None:
    """Ids, data sets and splits are the original's, and columns are recognised; logic takes boxed answers."""
    for env_id, (name, split, _) in PUBLISHED.items():
        expected = {"dataset_name": name, "split": split}
        if env_id.startswith("logic"):
            expected["extract_boxed"] = True  # type: ignore[assignment]
        assert SPECS[env_id].kwargs == expected
        assert SPECS[env_id].requires == ("dataset",)
    bundled = {env_id for env_id in SPECS if "-v0" in env_id}
    assert SPECS.keys() == PUBLISHED.keys() | bundled


def test_the_original_arguments_are_taken() -> None:
    """Every argument of the original's QaEnv is one of ours, with the same default but for the seed.

    With the original's seed of 0, environments that nobody seeds would all ask the same questions.
    """
    taken = inspect.signature(QaEnv.__init__).parameters
    assert taken["seed"].default is None
    published = {
        "dataset_name": "", "split": None, "dataset": None,
        "extract_boxed": False, "load_from_cache_file": True,
    }  # fmt: skip
    assert {name: taken[name].default for name in published} == published
    assert taken["question_key"].default is taken["answer_key"].default is None  # the published columns are recognised


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "arrow"])
@pytest.mark.parametrize("env_id", sorted(PUBLISHED))
def test_a_local_file_in_the_published_schema_works(env_id: str, suffix: str, tmp_path: Path) -> None:
    """From a file of any kind: the reference answer earns 1.0, and an answer to another question nothing."""
    rows, path = rows_for(env_id), tmp_path / f"data.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pa = pytest.importorskip("pyarrow")
        table = pa.Table.from_pylist(rows)
        if suffix == "parquet":
            from pyarrow import parquet

            parquet.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
    env = gem.make(SPECS[env_id], dataset=str(path))
    policy = OraclePolicy(env)
    seen = set()
    for _ in range(2):
        observation, info = env.reset()
        seen.add(observation)
        _, reward, terminated, _, info = env.step(policy.act(observation, info))
        assert (reward, terminated, info["correct"], info["f1"]) == (1.0, True, True, 1.0)
        env.reset(options={"index": 0})
        assert env.step(env.reference_answer(env.rows[1]))[1] == 0.0
    assert len(seen) == 2


@pytest.mark.parametrize("env_id", sorted(PUBLISHED))
def test_without_network_the_error_says_what_to_do(
    env_id: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It names the data set, and both ways to have it: fetching it ahead, and passing a copy."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for variable in ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.delenv("GEM_DATA_DIR", raising=False)
    with pytest.raises(DatasetError, match=f"'{PUBLISHED[env_id][0]}' .*gem data pull .*dataset=PATH"):
        gem.make(SPECS[env_id]).reset()


@pytest.mark.parametrize("boxed", [False, True])
def test_the_prompt_asks_for_what_the_grader_takes(boxed: bool) -> None:
    """A prompt names one format alone, and an answer in it counts; the original asked for tags and graded boxes."""
    env = QaEnv(dataset=ROWS, extract_boxed=boxed)
    observation, _ = env.reset(options={"index": 0})
    assert isinstance(observation, str)
    assert observation.startswith("Who wrote it?")
    assert ("\\boxed{" in observation, "<answer>" in observation) == (boxed, not boxed)
    tagged, box = "<answer>ann lee</answer>", "so it is \\boxed{ann lee}"
    assert env.step(box if boxed else tagged)[1] == 1.0
    env.reset(options={"index": 0})
    _, reward, _, _, info = env.step(tagged if boxed else box)
    assert (reward, info["action_status"], info["correct"], info["f1"]) == (0.0, "malformed", False, 0.0)


@pytest.mark.parametrize(
    ("action", "reward", "status"),
    [
        ("<answer>Ann Lee</answer>", 1.0, "legal"),
        ("<think>x</think> <answer> the Ann  Lee. </answer> done", 1.0, "legal"),
        ("<answer>no</answer><answer>A. Lee</answer>", 1.0, "legal"),
        ("<answer>A. Lee</answer><answer>no</answer>", 0.0, "legal"),
        ("<answer>first <answer>Ann Lee</answer>", 1.0, "legal"),
        ("<answer>Ann Lee</answer> </answer>", 1.0, "legal"),
        ("<answer>Ann Lee</answer><answer>", 1.0, "legal"),
        ("<answer></answer>", 0.0, "legal"),
        ("<answer>?</answer>", 0.0, "legal"),
        ("Ann Lee", 0.0, "malformed"),
        ("<answer>Ann Lee", 0.0, "malformed"),
        ("Ann Lee</answer>", 0.0, "malformed"),
        ("", 0.0, "malformed"),
        (None, 0.0, "malformed"),
        (b"<answer>Ann Lee</answer>", 0.0, "malformed"),
        ({"role": "assistant", "content": "<answer>Ann Lee</answer>"}, 1.0, "legal"),
    ],
)
def test_the_last_tagged_answer_counts(action: Any, reward: float, status: str) -> None:
    """What stands in the last complete pair of tags is the answer."""
    env = QaEnv(dataset=ROWS)
    env.reset(options={"index": 0})
    _, earned, terminated, truncated, info = env.step(action)
    assert (earned, terminated, truncated, info["action_status"]) == (reward, True, False, status)


@pytest.mark.parametrize("answer", ["True", "true.", "\\text{True}", "\\textbf{ True }", "\\mathrm{True}"])
def test_a_boxed_word_may_be_set_in_any_type(answer: str) -> None:
    r"""Models write \boxed{\text{True}} for \boxed{True}."""
    env = QaEnv(dataset=ROWS, extract_boxed=True)
    env.reset(options={"index": 2})
    assert env.step(f"\\boxed{{{answer}}}")[1] == 1.0


def test_the_metric_f1_pays_for_a_part() -> None:
    """With metric="f1" the reward is the share of right words, and only a whole match is correct."""
    env = QaEnv(dataset=ROWS, metric="f1")
    env.reset(options={"index": 0})
    _, reward, _, _, info = env.step("<answer>Ann</answer>")
    assert reward == info["f1"] == pytest.approx(2 / 3)
    assert info["correct"] is False


@pytest.mark.parametrize(
    "text",
    ["<answer>" * 130_000, "</answer>" * 116_000, "<answer>" * 60_000 + "</answer>" * 60_000, "\\boxed{" * 150_000]
    + [f"<answer>{filler * (1_000_000 // len(filler))}</answer>" for filler in ("the ", "a", "é, ", " ", ".")],
    ids=lambda text: text[:20],
)
@pytest.mark.parametrize("boxed", [False, True])
def test_a_megabyte_is_no_answer(text: str, boxed: bool) -> None:
    """No long text raises or scores; an answer of that length is not even compared."""
    env = QaEnv(dataset=ROWS, extract_boxed=boxed, metric="f1")
    env.reset(options={"index": 0})
    assert env.step(text)[1] == 0.0


def test_a_gold_as_long_as_the_answer_is_compared() -> None:
    """The limit on answers grows with what is right."""
    gold = "word " * 5000
    env = QaEnv(dataset=[{"question": "?", "answer": gold}])
    env.reset()
    assert env.step(f"<answer>{gold}</answer>")[1] == 1.0


def test_eval_keeps_the_order_of_the_set() -> None:
    """With eval=True the rows come as they lie in the set."""
    env = QaEnv(dataset=ROWS, eval=True)
    assert [env.reset()[1]["index"] for _ in range(4)] == [0, 1, 2, 0]


def test_a_set_can_be_streamed(tmp_path: Path) -> None:
    """Read from front to back, every row is asked once an epoch, and graded as ever."""
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    env = QaEnv(dataset=str(path), streaming=True)
    asked = [env.reset()[0] for _ in ROWS]
    assert len(set(map(str, asked))) == len(ROWS)
    assert env.step(env.reference_answer(env.row))[1] == 1.0


def test_a_wrong_column_is_named() -> None:
    """The error of a misnamed column says which columns there are."""
    with pytest.raises(DatasetError, match=r"'problem'.*'question', 'answer'"):
        QaEnv(dataset=ROWS, question_key="problem").reset()


def test_no_data_set_at_all_is_refused() -> None:
    """Without dataset_name and dataset there is nothing to ask."""
    with pytest.raises(ArgumentError, match="dataset_name"):
        QaEnv()


@pytest.mark.parametrize("name", ["question_key", "answer_key", "split", "metric", "extract_boxed", "eval", "seed"])
@pytest.mark.parametrize("value", [0.5, b"x", "", [], object(), -1])
def test_hostile_arguments_raise_gem_errors(name: str, value: Any) -> None:
    """Whatever is passed, nothing but a GEM error is raised."""
    with pytest.raises(GemError):
        QaEnv(**{"dataset": ROWS, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("gold", [None, "", " ", [], {}, {"name": "x"}, float("nan"), b"x", [None, [""]]])
def test_an_unusable_gold_is_an_error_with_the_row(gold: Any) -> None:
    """A row that no answer could be right for is refused when it is asked, and the set if its first rows are all so."""
    rows = [{"question": "Who?", "answer": "Ann"}, {"question": "Who?", "answer": gold}]
    env = QaEnv(dataset=rows)
    with pytest.raises(DatasetError, match=r"row 1 has no usable answer in 'answer'.*remove the row"):
        env.reset(options={"index": 1})
    with pytest.raises(DatasetError, match="row 0 has no usable answer"):
        QaEnv(dataset=rows[1:])


@pytest.mark.parametrize("gold", [{"value": "Ann"}, [None, ["Ann"]], {"text": ["Ann"], "answer_start": [3]}, '["Ann"]'])
def test_golds_in_other_forms_are_read(gold: Any) -> None:
    """Objects of TriviaQA and SQuAD, nested lists, and lists as JSON text."""
    env = QaEnv(dataset=[{"question": "Who?", "answer": gold}])
    env.reset()
    assert env.step("<answer>ann</answer>")[1] == 1.0
    env.reset()
    assert env.step(env.reference_answer(env.row))[1] == 1.0


def test_a_function_maps_rows() -> None:
    """map_row returns question and answer, or a row; its failures name the row."""
    rows = [{"q": "Who?", "a": "Ann Lee"}, {"q": "Where?"}]
    env = QaEnv(dataset=rows, map_row=lambda row: (row["q"], row["a"].split()))
    env.reset(options={"index": 0})
    assert env.golds(env.row) == ["Ann", "Lee"]
    with pytest.raises(DatasetError, match="map_row failed on row 1: KeyError: 'a'"):
        env.reset(options={"index": 1})
    whole = QaEnv(dataset=rows, map_row=lambda row: {"problem": row["q"], "gold": "x"})
    assert whole.reset(options={"index": 1})[0].startswith("Where?")
    with pytest.raises(DatasetError, match="must return a dict, or a pair"):
        QaEnv(dataset=rows, map_row=lambda row: row["q"])  # type: ignore[arg-type,return-value]


HOTPOT = {
    "id": "1",
    "question": "Who wrote it?",
    "answer": "Ann Lee",
    "supporting_facts": {"title": ["A"]},
    "level": "easy",
}
NATURAL = {
    "id": "1",
    "document": {"title": "A"},
    "question": {"text": "Who wrote it?"},
    "annotations": {"short_answers": [{"text": ["Ann Lee"]}], "yes_no_answer": [-1]},
}
RULES = {"context": "Ann is kind.", "question": "Ann is kind.", "label": "entailment", "config": "depth-0"}
PUBLISHED_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "qa:NaturalQuestions": (NATURAL, "Ann Lee"),
    "eval:NaturalQuestions": (NATURAL, "Ann Lee"),
    "qa:HotpotQA": (HOTPOT, "Ann Lee"),
    "eval:HotpotQA": (HOTPOT, "Ann Lee"),
    "eval:2Wiki": ({**HOTPOT, "evidences": [], "type": "comparison"}, "ann lee"),
    "eval:Musique": (
        {"question": "Who wrote it?", "paragraphs": [], "answer": "Ann Lee", "answer_aliases": ["A. Lee"]},
        "A. Lee",
    ),
    "eval:QaOpen": ({"question": "Who wrote it?", "answer": ["Ann Lee", "A. Lee"]}, "A. Lee"),
    "eval:TriviaQA": ({"question": "Who wrote it?", "answer": {"value": "Ann Lee", "aliases": ["A. Lee"]}}, "A. Lee"),
    "eval:PopQA": ({"question": "Who wrote it?", "possible_answers": '["Ann Lee", "A. Lee"]', "obj": "x"}, "A. Lee"),
    "eval:Bamboogle": ({"Question": "Who wrote it?", "Answer": "Ann Lee"}, "Ann Lee"),
    **{f"logic:RuleTaker-d{depth}": (RULES, "True") for depth in (0, 1, 2, 3, 5)},
}
"""A row of each set as its authors, or Hugging Face, publish it, and a right answer to it."""


@pytest.mark.parametrize("env_id", PUBLISHED)
def test_an_id_takes_the_published_rows(env_id: str) -> None:
    """Under the columns of the authors, beside those of the copies that the id names."""
    row, right = PUBLISHED_ROWS[env_id]
    form = "\\boxed{{{}}}" if env_id.startswith("logic") else "<answer>{}</answer>"
    with gem.make(env_id, dataset=[row]) as env:
        for answer, paid in ((right, 1.0), ("False", 0.0)):
            env.reset(seed=0)
            assert env.step(form.format(answer))[1] == paid
