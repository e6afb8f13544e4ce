"""What a model writes for a made package passes the same checks, and is thrown away otherwise."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from made_packages import written
from synthesis_documents import bicycles

from gem.errors import GemError, MissingPluginError
from gem_envs_desk.checks import check_task
from gem_envs_desk.synthesis.errors import DescriptionError
from gem_envs_desk.synthesis.making import MadeTasks, service_tasks
from gem_envs_desk.synthesis.model_writing import chat_with, phrased, spec_of_text
from gem_envs_desk.synthesis.service_domain import ServiceDomain
from gem_envs_desk.synthesis.task_list import TaskList
from gem_envs_desk.synthesis.tool_list import spec_of_tools

SPEC = spec_of_tools(bicycles(), "bikes.json")
DOMAIN = ServiceDomain(SPEC)


@cache
def made() -> MadeTasks:
    return service_tasks(SPEC, 12, seed=0)


def request_in(messages: list[dict[str, Any]]) -> str:
    return str(messages[0]["content"]).split("\n\n", 1)[1]


def test_faithful_words_are_taken() -> None:
    """A text with the same values replaces the template, and the task stays sound."""
    new = phrased(made(), DOMAIN, lambda messages: f"Hi! {request_in(messages)}")
    assert all(task.text.startswith("Hi! ") for _, _, task in new.tasks.all())
    assert [fault for _, _, task in new.tasks.all() for fault in check_task(DOMAIN, task)] == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace('"', "'", 2), "a value is missing"),
        (lambda text: f"{text} And 12345.", "a value was added"),
        (lambda text: "", "it is empty or too long"),
        (lambda text: text + "x" * 10_000, "it is empty or too long"),
    ],
)
def test_unfaithful_words_are_thrown_away(change: Any, reason: str) -> None:
    """Where the model drops or invents a value, the template stays, and the reason is counted."""
    texts = [task.text for _, _, task in made().tasks.all() if '"' in task.text]
    new = phrased(made(), DOMAIN, lambda messages: change(request_in(messages)))
    assert [task.text for _, _, task in new.tasks.all() if '"' in task.text] == texts
    assert new.thrown_away[f"a wording of the model's, because {reason}"] >= len(texts)


def test_words_that_tell_the_answer_are_thrown_away() -> None:
    """A text that contains what the user wants to know is not taken."""
    asking = next(task for _, _, task in made().tasks.all() if task.facts and isinstance(task.facts[0].value, str))
    only = MadeTasks(TaskList({(1, "train"): [asking]}))
    new = phrased(only, DOMAIN, lambda messages: f"{request_in(messages)} Is it {asking.facts[0].value}?")
    assert new.tasks.task(0, 1, "train").text == asking.text
    assert new.thrown_away["a wording of the model's, because it tells the answer"] == 1


def test_faults_of_a_design_go_back_to_the_model() -> None:
    """The model sees what was wrong with its tools, and may correct them."""
    answers = ["I cannot.", '{"tools": 7}', f"```json\n{json.dumps(bicycles())}\n```"]
    seen: list[str] = []

    def chat(messages: list[dict[str, Any]]) -> str:
        seen.append(messages[-1]["content"])
        return answers.pop(0)

    assert spec_of_text("A shop for bicycles.", "shop.md", chat).to_json() == SPEC.to_json()
    assert seen[0].endswith("A shop for bicycles.")
    assert "the answer is not JSON" in seen[1]
    assert "must hold a list of tools" in seen[2]


def test_a_model_that_makes_nothing_is_an_error() -> None:
    """After the last attempt the message says what was wrong with it."""
    with pytest.raises(DescriptionError, match=r"no service of shop\.md in 4 attempts: the answer is not JSON"):
        spec_of_text("A shop.", "shop.md", lambda messages: "no")


def test_a_text_needs_a_model(tmp_path: Path) -> None:
    """Without one, the command says which option is missing, and writes nothing."""
    (tmp_path / "shop.md").write_text("A shop for bicycles.")
    with pytest.raises(GemError, match=r"shop\.md is a text, which takes a model .* add --base-url"):
        written(tmp_path / "shop-desk", str(tmp_path / "shop.md"))
    with pytest.raises(GemError, match="a model needs --base-url as well"):
        written(tmp_path / "shop-desk", str(tmp_path / "shop.md"), "--model", "x")
    assert not (tmp_path / "shop-desk").exists()


def test_a_missing_client_is_named() -> None:
    """Where gem-eval is not installed, the message has the line that installs it; else the client is there."""
    try:
        chat_with("http://localhost:1", "x")
    except MissingPluginError as error:
        assert "pip install gem-eval" in str(error)  # noqa: PT017


def test_a_text_becomes_a_package(tmp_path: Path) -> None:
    """A model designs the tools of a description and phrases the tasks; the rest is as for a list of tools."""
    pytest.importorskip("gem_eval")
    (tmp_path / "shop.md").write_text("A shop for bicycles.")
    options = ("--base-url", "scripted:scripted_writer:answer", "--tasks", "6")
    report = written(tmp_path / "shop-desk", str(tmp_path / "shop.md"), *options)
    assert report["environments"] == ["shop-desk:BikeRental-v0"]
    tasks = TaskList.from_text((tmp_path / "shop-desk/src/shop_desk/tasks.jsonl").read_text(encoding="utf-8"))
    assert all(task.text.startswith("I would like this. ") for _, _, task in tasks.all())
