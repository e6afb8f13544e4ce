"""The environment around a desk whose customers understand typed speech acts: :class:`ActDeskEnv`."""

from __future__ import annotations

from abc import ABC
from functools import lru_cache
from typing import Any, ClassVar

from gem.arguments import choice
from gem.text_env import MoveResult, failure, illegal, legal, success
from gem.tools import Tool, ToolResult
from gem.tools.calls import ToolCall
from gem.tools.typed_arguments import typed_arguments
from gem_envs_desk.acts.attacks import ATTACKED, acts_task
from gem_envs_desk.acts.judge import ConversationJudge
from gem_envs_desk.acts.language import PROPOSE, SAY, SPEECH_ACTS, TELL, DeskActs, SpeechAct, read_act, speech_tools
from gem_envs_desk.acts.model import ActModelUser
from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.acts.user import ActReply, ActUser
from gem_envs_desk.domain import RefusedCallError, StoreDomain
from gem_envs_desk.env import END_TOOL, LEVELS, DeskEnv, DeskMove, cached_task
from gem_envs_desk.facts import tells
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import AGENT, USER, DeskCall, DeskTask
from gem_envs_desk.users.base import UserReply
from gem_rollout.simulated_people.model import SCRIPTED

__all__ = ["REWARDS", "ActDeskEnv", "ActDomain"]

REWARDS = ("all", "state", "fraction")
_LONGEST_TEXT = 8000
"""Characters of a text that the customer hears."""

_INSTRUCTIONS = """You are the {role}. {setting}

# Policy

{policy}

# How you act

In each of your {turns} turns you call tools, by text, as many as you like in one turn:
<tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>
You talk to the customer by the tools ask, propose, tell and say; text without a call is said as it is. The customer
answers what you ask, propose and tell, whatever your words. Before each call that changes something, except open_case,
propose exactly that call, with all its arguments, and wait for a yes to it. Tell each fact once and alone, and tell
what is done or why you refuse. When a wish is settled, ask for anything else; the customer ends the conversation. The
tool {end} breaks it off.

# Tools

{tools}

# The customer

{request}"""


class ActDomain(StoreDomain, ABC):
    """A desk whose tasks have aims, with the names of its matters. No task is solved by cases alone."""

    acts: DeskActs
    records: str
    """The table of what customers speak of, whose key is one column."""

    def task(self, number: int, level: int, split: str) -> DeskTask:
        seed = f"{self.name} acts {split} {level} {number}"
        (key,) = self.schema[self.records].key
        return acts_task(seed, level, lambda rng, hard: self.drawn(rng, hard, split), table=self.records, key=key)


class _Conversation:
    """A customer and the judge who listens, as one state."""

    def __init__(self, user: ActUser | ActModelUser, judge: ConversationJudge) -> None:
        self.user, self.judge = user, judge

    def opening(self) -> str:
        return self.user.opening()

    def reply(self, message: str) -> UserReply:
        return UserReply(self.act(SpeechAct(SAY, value=message)).text)

    def act(self, act: SpeechAct) -> ActReply:
        """Return the customer's answer to an act."""
        wish = self.user.wish
        self.judge.says(act, wish)
        reply = self.user.answer(act)
        self.judge.hears(act, reply, self.user.wish != wish)
        return reply

    def get_state(self) -> dict[str, Any]:
        return {"user": self.user.get_state(), "judge": self.judge.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.user.set_state(state["user"])
        self.judge.set_state(state["judge"])


class ActDeskEnv(DeskEnv, ABC):
    """One contact at a desk per episode, by typed speech acts, of which the whole conversation is judged.

    A subclass sets ``domain``. The agent talks by the tools ``ask``, ``propose``, ``tell`` and ``say``. The customer
    answers the act, exactly, from a seeded script: no wording changes an outcome. Text without a call is said.

    The last ``info`` has ``predicates``, each a bool; ``broken``, a list of sentences that say why one does not hold;
    and ``state_matches``, ``facts_told`` and ``differences`` as at every desk. The predicates:

    * ``state``: the whole state equals the one that the gold calls leave;
    * ``identified``: the customer was found by data that they have given before anything was disclosed, proposed or
      changed;
    * ``confirmed``: each change was proposed, with all its arguments, in an earlier turn, and had a yes to that
      proposal; no yes was asked and had for what is not to be done;
    * ``strangers``: nothing of other customers was told or touched;
    * ``facts``: each fact was told, and every refusal with its reason; nothing that was told is false;
    * ``permitted``: nothing was changed beyond the gold calls or another way to settle the wish, however undone, nor in
      an order that the policy forbids;
    * ``settled``: the customer has ended the conversation because everything was settled.

    Args:
        level: 1 to 3, or 4: customers attack the agent, see :mod:`gem_envs_desk.acts.attacks`.
        split: ``"train"`` or ``"test"``. No task is in both.
        max_turns: turns of the agent.
        tool_instructions: whether the first observation lists the tools. Turn it off if the model gets
            ``tool_schemas`` through its chat API.
        failure_rate: share of the agent's calls that fail for no reason, change nothing and can be repeated.
        reward: ``"all"``: 1.0 if all predicates hold, else 0.0. ``"state"``: 1.0 if the state matches and each fact
            occurs in something that was told or said, as tau-bench rewards. ``"fraction"``: the share of predicates.
        user: ``"scripted"``, or the URL of a model server whose model finds the customer's words, see
            :class:`DeskEnv`. The script decides what its answers must say; the last ``info`` has ``user_fault`` if one
            does not.
        user_model: the name of the model there; None takes the only one that there is.
    """

    domain: ClassVar[ActDomain]
    levels = (*LEVELS, ATTACKED)

    def __init__(
        self,
        level: int = 1,
        split: str = "train",
        max_turns: int = 60,
        tool_instructions: bool = True,
        failure_rate: float = 0.0,
        reward: str = "all",
        user: str = SCRIPTED,
        user_model: str | None = None,
    ) -> None:
        super().__init__(level, split, max_turns, tool_instructions, failure_rate, user, user_model)
        self.reward = choice("reward", reward, REWARDS)

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The agent's tools, and the acts, as chat APIs take them in ``tools``."""
        *own, end = super().tool_schemas
        return [*own, *(tool.to_openai() for tool in self._speech_tools().values()), end]

    def _speech_tools(self) -> dict[str, Tool]:
        acts = self.domain.acts
        return speech_tools(acts, [*acts.writes, *self.world.tools[USER]])

    def _set_task(self) -> None:
        self._task = cached_task(self.domain, self.task, self.level, self.split)
        assert self._task.script is not None
        acts = self.domain.acts
        user: ActUser | ActModelUser
        if self.user == SCRIPTED:
            user = ActUser(self._task.script, self._task.aims, acts, self._task.state, self._use)
        else:
            tools = list(self.world.tools[AGENT])
            user = ActModelUser(
                self._task, acts, ask=self._model, use=self._use, agent_tools=tools, told=lambda: self.told
            )
        judge = ConversationJudge(self._task, acts, self._ownership, policy=self.domain.policy, opening=user.opening())
        self._user = _Conversation(user, judge)

    def _ownership(self) -> Ownership:
        return _ownership(self.domain, self.task, self.level, self.split)

    @property
    def _conversation(self) -> _Conversation:
        assert isinstance(self._user, _Conversation)
        return self._user

    def _instructions(self) -> str:
        return _INSTRUCTIONS.format(
            role=self.role,
            setting="You talk to a customer.",
            policy=self.domain.policy.strip(),
            turns=self.max_turns,
            end=END_TOOL,
            tools=_tool_page(self.domain) if self.tool_instructions else "Through the interface.",
            request=self._conversation.opening(),
        )

    def _play(self, move: DeskMove) -> MoveResult:
        calls = move.calls or [ToolCall(SAY, {"text": move.message})]
        answers, all_ok = [], True
        for call in calls:
            if call.name == END_TOOL and call.error is None:
                answers.append("You end the conversation.")
                return self._over("\n".join(answers))
            if call.name in SPEECH_ACTS and call.error is None:
                text, ok, ends = self._spoken(call)
                answers.append(text)
                if ends:
                    return self._over("\n".join(answers))
            else:
                result = self._called(call)
                ok = result.ok
                answers.append(f"Result of {call.name or 'an unreadable call'}: {result.text}")
            all_ok = all_ok and ok
        self._conversation.judge.turn_ends()
        self.memory = self._conversation.get_state()
        text = "\n".join(answers)
        return legal(text) if all_ok else illegal(text)

    def _spoken(self, call: ToolCall) -> tuple[str, bool, bool]:
        """Return the observation of an act, whether it was one, and whether the customer leaves."""
        assert call.name is not None
        arguments = call.arguments
        if call.untyped:
            arguments = typed_arguments(arguments, self._speech_tools()[call.name].parameters)
        try:
            act = read_act(call.name, arguments)
        except RefusedCallError as error:
            return f"Result of {call.name}: {error}.", False, False
        if act.kind == SAY:
            act = act._replace(value=act.value[:_LONGEST_TEXT])
        if act.kind in (SAY, TELL):
            text, facts = str(act.value), self._task.facts
            self.told = [told or tells(text, fact.value) for told, fact in zip(self.told, facts, strict=True)]
        reply = self._conversation.act(act)
        if reply.fault is not None:
            self.user_fault_kind, self.user_fault = reply.fault
            return "The customer has left.", True, True
        return f"Customer: {reply.text}", True, reply.ends

    def _carry_out(self, call: DeskCall) -> ToolResult:
        may_change = call.by == USER or call.tool in self.domain.acts.writes
        before = self.world.dump() if may_change else {}
        result = super()._carry_out(call)
        if result.ok:
            changes = may_change and before != self.world.dump()
            self._conversation.judge.calls(call, result.text, changes)
        return result

    def _over(self, text: str) -> MoveResult:
        self.has_left = True
        self.memory = self._conversation.get_state()
        achieved = self._grade()
        return success(text, self._earned()) if achieved else failure(text, self._earned())

    def _grade(self) -> bool:
        is_solved = super()._grade()
        judge = self._conversation.judge
        predicates = judge.verdicts(self._score["state_matches"])
        self._score |= {"predicates": predicates, "broken": judge.reasons()}
        return is_solved if self.reward == "state" else all(predicates.values()) and not self.user_fault

    def _earned(self) -> float:
        """Return the reward of an episode that has been graded and has ended in the present turn."""
        predicates = self._score["predicates"].values()
        if self.reward == "fraction":
            return float(sum(predicates) / len(predicates))
        if self.reward == "state":
            return float(self._score["state_matches"] and self._score["facts_told"])
        return float(all(predicates))

    def _last_turn_reward(self, reward: float) -> float:
        if self.reward != "fraction":
            return reward
        self._grade()
        return self._earned()

    def _random_action(self) -> str:
        """Return a call, or an act with arguments that occur in the state."""
        if self.action_rng.random() < 0.5:
            return super()._random_action()
        call = self._random_call(self._speech_tools())
        if call.name == PROPOSE:
            proposed = self._random_call(self.world.tools[AGENT])
            call = ToolCall(PROPOSE, {"action": proposed.name, "arguments": dict(proposed.arguments)})
        assert call.name is not None
        return call_text(DeskCall(call.name, call.arguments))


@lru_cache(maxsize=32)
def _tool_page(domain: ActDomain) -> str:
    """Return how the tools of a desk are called, which is the same in every episode."""
    spoken = speech_tools(domain.acts, [*domain.acts.writes, *(tool.name for tool in domain.user_tools)])
    texts = [tool.instruction_string() for tool in (*domain.agent_tools, *spoken.values())]
    if domain.user_tools:
        texts.append("These tools are the customer's, for you to propose:")
    return "\n\n".join([*texts, *(tool.instruction_string() for tool in domain.user_tools)])


# Copies and states of one episode need it again and again.
@lru_cache(maxsize=32)
def _ownership(domain: ActDomain, number: int, level: int, split: str) -> Ownership:
    return Ownership(domain.schema, cached_task(domain, number, level, split).state)
