"""Research and deep search through a folded history: an agent that remembers nothing but what it is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gem
from gem_envs_qa.deep_search.policy import DeepSearchPolicy
from gem_envs_qa.deep_search.reader import bare
from gem_envs_qa.deep_search.sentence_reader import SearchReader
from gem_envs_qa.research.policy import ResearchPolicy
from gem_envs_qa.research.tasks import KINDS
from gem_rollout.serial import play_episode
from gem_rollout.stream import rollout

_NOTED = re.compile(r"- ([^|\n\]>→]+?) \| (\w+) \| ([^|\[\n]+?) \[(\d+)\]")
_SAME = re.compile(r"\(([^=()\n]+) = ([^=()\n]+)\)")
_SEARCHED = re.compile(r"<search>(.+?)</search>|<more/>")
_ARTICLE = re.compile(r"^\[(\d+)\] (.+?): (.+)$", re.MULTILINE)
_FOLDED = re.compile(r"\[(\d+)\] ([A-Z][^:;\n]+?): [^;\n]*…")
_DONE = "I have every fact."
_PAGES = 12


class Rereader(ResearchPolicy):
    """The reference policy with what was noted of articles that it no longer sees."""

    def remember(self, shown: str) -> None:
        for name, title in _SAME.findall(shown):
            self._reader.names.setdefault(bare(title), title)
            self._reader.aliases[bare(name)] = title
        self._numbers = {title: number for number, title, _ in _ARTICLE.findall(shown)}
        for number, title, text in _ARTICLE.findall(shown):
            self._reader.read(title, text)
            alone = self._read[number] = SearchReader()
            alone.aliases, alone.names = self._reader.aliases, self._reader.names
            alone.read(title, text)
        for subject, relation, value, number in _NOTED.findall(shown):
            for reader in (self._reader, self._read.setdefault(number, SearchReader())):
                reader.facts.setdefault((relation, bare(subject)), value)
                reader.aliases, reader.names = self._reader.aliases, self._reader.names
        searched = _SEARCHED.findall(shown)
        self._searched = set(filter(None, searched))
        more = len(searched) - len("\n".join(query or "\0" for query in searched).rstrip("\0\n").split("\n"))
        self._last = next(filter(None, reversed(searched)), ""), more

    def act(self, observation: str, info: Any) -> str:
        query, more = self._last
        action = super().act(observation, info)
        if self._wish is None:
            return action
        # Which page of results it is on follows from the searches, as everything else.
        if action != "<more/>" and query in self._reader.called(self._wish[-1]) and more < _PAGES:
            shows = "The search engine shows" in observation.rpartition("\nTurn ")[2]
            return "<more/>" if shows else action
        return action

    def same_names(self) -> list[str]:
        """Return the second names of what was noted, as notes."""
        told = "\n".join(self._claims)
        owners = self._reader.aliases.items()
        numbers = self._numbers
        return [
            f"({alias} = {title}) [{numbers[title]}]"
            for alias, title in owners
            if title in numbers and title.lower() in told.lower()
        ]


class Forgetful:
    """Researches as the reference policy does, with nothing in mind but the observation in front of it.

    It notes each fact in its answers, looks again at folded articles about what it wants to know before it searches,
    browses on until few turns are left, and reports those of its notes that the unfolded articles state.

    Args:
        last: the turn in which it reports.
    """

    def __init__(self, last: int) -> None:
        self.last = last

    def act(self, shown: list[dict[str, Any]]) -> str:
        task, _, notes = str(shown[0]["content"]).partition("Earlier turns, folded.")
        rest = "\n".join([notes, *(str(message["content"]) for message in shown[1:])])
        turn = max(map(int, re.findall(r"^Turn (\d+) of", rest, re.MULTILINE)), default=0)
        if _DONE in rest and turn < self.last:
            names = sorted({title for _, title in _FOLDED.findall(notes)}) or ["the"]
            return f"{_DONE} <search>{names[turn % len(names)]} history</search>"
        policy = Rereader()
        policy.reset(task, {})
        policy.remember(rest)
        action = policy.act(rest, {})
        claims = [claim for claim in policy._claims if claim not in rest]
        said = [*claims, *(same for same in policy.same_names() if same not in rest)]
        if not action.startswith("<report>"):
            wish = policy._wish
            assert wish is not None
            called = policy._reader.called(wish[-1])
            unfolded = {one for names in re.findall(r"<unfold>(.+?)</unfold>", rest) for one in names.split(", ")}
            again = [number for number, title in _FOLDED.findall(notes) if title in called and number not in unfolded]
            if again:
                action = f"<unfold>{', '.join(again[:20])}</unfold>"
        elif turn < self.last:
            action = f"{_DONE} <search>history</search>"
        else:
            return confirmed(list(policy._claims), "\n".join(str(message["content"]) for message in shown[1:]))
        return "\n".join([*said, action])


def confirmed(claims: list[str], latest: str) -> str:
    """Return the report of the claims whose articles say so, or the look again at articles that are out of sight."""
    articles = {number: f"{title} {text}".lower() for number, title, text in _ARTICLE.findall(latest)}
    cited = {claim: claim.rpartition("[")[2].rstrip("]").split(", ") for claim in claims}
    missing = dict.fromkeys(number for numbers in cited.values() for number in numbers if number not in articles)
    if missing:
        return f"<unfold>{', '.join([*missing][:20])}</unfold>"
    value = {claim: claim.split(" | ")[2].rpartition(" [")[0].lower() for claim in claims}
    kept = [claim for claim in claims if any(value[claim] in articles[number] for number in cited[claim])]
    return f"<report>{chr(10).join(kept)}</report>"


def tokens(shown: list[dict[str, Any]]) -> int:
    return sum(len(message["content"]) // 4 + 4 for message in shown)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_after_600_turns_is_as_good_from_a_folded_history(kind: str) -> None:
    """The agent knows the folded history alone, of at most 20,000 tokens where all of it has more than 100,000."""
    fold = gem.wrapper("fold", after_turns=12, keep_turns=4, note_tokens=12_000, max_unfolds=300, form="messages")
    env = gem.make("research:World-v0-hard", kind=kind, wrappers=fold)
    shown, _ = env.reset(seed=3)
    agent = Forgetful(last=590)
    costs, whole = [tokens(shown)], tokens(shown)
    unfolded: list[str] = []
    for _ in range(1000):
        shown, reward, terminated, truncated, info = env.step(agent.act(shown))
        unfolded += info.get("unfolded", ())
        costs.append(tokens(shown))
        whole += tokens(shown[-2:])
        if terminated or truncated:
            break
    assert len(costs) > 590
    assert len(unfolded) >= 5
    assert max(costs) < 20_000 < 100_000 < whole
    best = play_episode(gem.make("research:World-v0-hard", kind=kind), ResearchPolicy(), seed=3).episode_return
    assert reward >= best > 0.95


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["sync", "process"])
def test_deep_search_is_played_through_a_folded_history_in_batches(mode: str) -> None:
    """Four episodes, two at a time, with the rewards that the latest observations alone give."""
    fold = gem.wrapper("fold", after_turns=2, keep_turns=1)
    rewards = []
    for wrappers in ([], [fold]):
        episodes = rollout(
            "qa:DeepSearch-v0", lambda env: DeepSearchPolicy(), num_envs=2, episodes=4, mode=mode, wrappers=wrappers
        )
        rewards.append(sorted((one.seed, one.episode_return) for one in episodes))
    assert rewards[0] == rewards[1] == [(seed, 1.0) for seed in range(4)]
