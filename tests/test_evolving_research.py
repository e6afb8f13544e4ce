"""Evolving rubrics for research: the reward ``group_rubric`` with the program for reports, a judge and a writer."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem.policies import Policy
from gem_envs_qa.research.policy import ResearchPolicy
from gem_eval.fake_model import FakeModel
from gem_eval.rewards.group_rubric import GroupRubricReward
from gem_questions.rewards import RewardContext, Score, make_reward, score_episode, score_episode_async
from gem_rollout.serial import play_episode
from gem_rollout.trajectory import Trajectory

PROGRAM = "gem_envs_qa.research.rubrics:ResearchRubrics"
ARTICLES = [
    {"id": "1", "title": "Elder Yard", "contents": '"Elder Yard"\nThe Elder Yard, a yard, was founded by Ada Holm.'},
    {"id": "2", "title": "Ada Holm", "contents": '"Ada Holm"\nAda Holm was born in Sund.'},
]
TASK = {
    "question": "How did the Elder Yard come about?",
    "relations": {"founder": "who founded a yard", "birthplace": "where a person was born"},
    "facts": [
        {"subject": "Elder Yard", "relation": "founder", "object": "Ada Holm", "documents": ["1"]},
        {"subject": "Ada Holm", "relation": "birthplace", "object": "Sund", "documents": ["2"]},
    ],
}
FOUNDED, BORN = "- Elder Yard | founder | Ada Holm [1]", "- Ada Holm | birthplace | Sund [2]"


class Reporter(Policy[str, str]):
    """Searches twice, and reports these lines."""

    def __init__(self, *lines: str) -> None:
        self.actions = ["<search>yard</search>", "<search>Ada Holm</search>", f"<report>{chr(10).join(lines)}</report>"]

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return self.actions.pop(0)


def sample(*lines: str, seed: int = 0) -> Trajectory:
    env = gem.make("research:Corpus-v0", corpus=ARTICLES, tasks=[TASK])
    return play_episode(env, Reporter(*lines), seed=seed)


def made(**arguments: Any) -> GroupRubricReward:
    reward = make_reward("group_rubric", **{"program": PROGRAM, "group": 2, "label": "lab", **arguments})
    assert isinstance(reward, GroupRubricReward)
    return reward


def test_the_rubric_of_a_task_follows_from_its_samples_without_a_judge() -> None:
    """The first group is paid by the environment alone; another task keeps a rubric of its own."""
    reward = made()
    good, half = sample(FOUNDED, BORN), sample(FOUNDED)
    assert [score_episode(reward, one).value for one in (good, half)] == [1.0, 0.125]
    after = [score_episode(reward, one) for one in (good, half)]
    assert [one.metadata["generation"] for one in after] == [1, 1]
    assert after[0].parts == {"environment": 1.0, "Ada Holm | birthplace | Sund": 1.0}
    assert [one.value for one in after] == [1.0, pytest.approx(3 * 0.125 / 4)]
    assert score_episode(reward, sample(FOUNDED, seed=1)).metadata["generation"] == 0


def test_an_item_that_all_samples_meet_retires() -> None:
    """What the policy has learnt no longer tells its samples apart."""
    reward = made()
    good, half = sample(FOUNDED, BORN), sample(FOUNDED)
    for one in (good, half, good, good):
        score_episode(reward, one)
    rubric = reward.rubric(good)
    assert ([item.name for item in rubric.active], list(rubric.retired)) == ([], ["Ada Holm | birthplace | Sund"])


def test_a_run_goes_on_with_its_rubrics(tmp_path: Path) -> None:
    """A reward of another configuration begins anew, and so does one after it."""
    good, half = sample(FOUNDED, BORN), sample(FOUNDED)
    reward = made()
    reward.begin(RewardContext(tmp_path))
    for one in (good, half):
        score_episode(reward, one)
    again = made()
    again.begin(RewardContext(tmp_path))
    assert again.rubric(good).active == reward.rubric(good).active != ()
    for later in (made(most=2), made()):
        later.begin(RewardContext(tmp_path))
        assert later.rubric(good).active == ()


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_record_that_was_cut_off_is_read_up_to_there(tmp_path: Path, cut: int) -> None:
    """Each change of a rubric is a line; a task whose line is lost begins anew, and a damaged file is none."""
    reward, samples = made(), [sample(*lines, seed=seed) for seed in (0, 1) for lines in ((FOUNDED, BORN), (FOUNDED,))]
    reward.begin(RewardContext(tmp_path))
    for one in samples:
        score_episode(reward, one)
    (path,) = (tmp_path / "scores").glob("*.rubrics.jsonl")
    path.write_bytes(path.read_bytes()[:-cut])
    again = made()
    again.begin(RewardContext(tmp_path))
    assert [again.rubric(one).generation for one in samples[::2]] == [1, 0]
    for one in samples[2:]:
        score_episode(again, one)
    once_more = made()
    once_more.begin(RewardContext(tmp_path))
    assert [once_more.rubric(one).generation for one in samples[::2]] == [1, 1]
    path.write_text('{"reward": 3}')
    damaged = made()
    damaged.begin(RewardContext(tmp_path))
    assert damaged.rubric(samples[0]).generation == 0


def test_a_rubric_needs_somebody_who_proposes() -> None:
    """A program, a writer, or both."""
    with pytest.raises(ArgumentError, match="program or a writer"):
        make_reward("group_rubric")
    with pytest.raises(ArgumentError, match="group must be at least 2"):
        made(group=1)


class Judging:
    """Answers over HTTP as a writer who proposes two items, and as a judge who reads what a report says."""

    def __init__(self, proposal: Any = None) -> None:
        self.wanted: list[str] = []
        self.tasks: list[str] = []
        self.proposal = proposal or {
            "positive": [{"name": "quays", "question": "Does the report speak of quays?\n</record>"}],
            "negative": [{"name": "flattery", "question": "Does the report praise its reader?"}],
        }

    def __call__(self, request: Any) -> str:
        system, user = (str(message["content"]) for message in request.messages[:2])
        if "You maintain the rubric" in system:
            self.wanted.append(user)
            self.tasks.append(system)
            return json.dumps(self.proposal)
        names = re.findall(r"^- (\w+): ", system, re.MULTILINE)
        words = {"quays": "quays", "flattery": "dear reader"}
        return json.dumps({name: {"reason": "read", "met": words[name] in user} for name in names})


def scored(judging: Judging, samples: list[Trajectory]) -> tuple[GroupRubricReward, list[Score]]:
    """Score samples one after another, judge and writer behind a socket."""

    async def main() -> tuple[GroupRubricReward, list[Score]]:
        async with FakeModel(judging) as model:
            reward = made(writer=True, judge={"base_url": model.url})
            scores = [await score_episode_async(reward, one) for one in samples]
            await reward.close()
            return reward, scores

    return asyncio.run(main())


def test_a_writer_proposes_what_a_judge_then_reads() -> None:
    """Items in prose stand beside those of the program; praise costs half."""
    plain, warm = sample(FOUNDED, BORN, "By the quays."), sample(FOUNDED, BORN, "I thank you, dear reader.")
    judging = Judging()
    reward, scores = scored(judging, [plain, warm, plain, warm])
    assert [one.value for one in scores] == [1.0, 1.0, 1.0, pytest.approx(3 / 4 / 2)]
    assert scores[3].parts == {"environment": 1.0, "quays": 0.0, "flattery": 1.0}
    assert scores[3].reasons == ["quays: 0.00. read", "flattery: 1.00, taken away. read"]
    assert len(judging.wanted) == 2
    assert "dear reader" in judging.wanted[0]
    assert [item.description for item in reward.rubric(plain).active if item.positive] == [
        "Does the report speak of quays? ‹/record›"
    ]


def test_a_writer_reads_no_quotation_of_a_report_as_its_task() -> None:
    """What the program quotes from reports stands in the record of the samples alone."""
    judging = Judging()
    reward, _ = scored(judging, [sample(FOUNDED, BORN), sample(FOUNDED)] * 2)
    assert "Ada Holm | birthplace | Sund" in {item.name for item in reward.rubric(sample(BORN)).active}
    assert "quays" in judging.tasks[1]
    assert not any("Ada Holm" in task for task in judging.tasks)


@pytest.mark.parametrize(
    "proposal",
    [
        "prose",
        {"positive": []},
        {"positive": [3], "negative": []},
        {"positive": [{"name": "?", "question": "x"}], "negative": []},
    ],
)
def test_a_writer_that_fails_leaves_the_programs_items(proposal: Any) -> None:
    """The failure is counted, and the samples are scored."""
    reward, scores = scored(Judging(proposal), [sample(FOUNDED, BORN), sample(FOUNDED), sample(FOUNDED)])
    assert reward.failed_proposals == 1
    assert scores[2].parts == {"environment": 0.125, "Ada Holm | birthplace | Sund": 0.0}


@pytest.mark.nightly
def test_rubrics_of_the_generated_world_keep_honest_reports_first() -> None:
    """Over six tasks: a whole report, one after four searches, and the same padded with what it read by the way."""

    class Padded(ResearchPolicy):
        def _last_word(self) -> str:
            read = [
                f"- {one} | {relation} | {value} [{number}]"
                for number, reader in self._read.items()
                for (relation, one), value in reader.facts.items()
            ]
            return f"<report>{chr(10).join([*self._claims, *read[:40]])}</report>"

    reward = made(group=3)
    env = gem.make("research:World-v0-easy")
    for seed in range(6):
        group = [play_episode(env, policy, seed=seed) for policy in (ResearchPolicy(), ResearchPolicy(4), Padded())]
        before = [score_episode(reward, one).value for one in group]
        after = [score_episode(reward, one).value for one in group]
        rubric = reward.rubric(group[0])
        assert "padded" in {item.name for item in rubric.active}
        assert after[0] == max(after) > 0.95
        assert all(value < 0.2 for value in (*before[2:], *after[2:]))
