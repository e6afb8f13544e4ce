"""A model in this process as a policy of the rollout engine: :class:`BatchSampler`.

All episodes of an engine are answered in one batch, in the order of their keys; where several versions of the weights
play, one version after the other. So the tokens that are sampled are a function of weights, generator and seeds,
however the event loop orders its tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from gem.core import Env, Info
from gem.errors import EpisodeLimitError
from gem.policies import Act, Policy
from gem_rl.training.episode_rows import padded
from gem_rl.training.language_model import ActionTokenizer, LanguageModel
from gem_rl.training.rounds import EarlierRounds, EarlierRow, Rounds, RowKey, SampledRow
from gem_rl.training.weights import Weights, using_weights

__all__ = ["BatchSampler", "SampledAgent", "sample_tokens"]


class BatchSampler:
    """Samples the actions of all episodes at a time.

    Args:
        model: the policy.
        tokenizer: of the model.
        generator: of the samples.
        playing: returns the number of episodes that are being played; a batch waits for all of them.
        max_new_tokens: the longest action in tokens.
        temperature: of the samples; 0 takes the most probable token.
        history: whether the model sees the whole episode, or the latest observation alone.
        beside: another sampler of the same engine, of other weights of this model. Both answer once all episodes wait
            for one of them, so in each episode one agent acts at a time.
        weights: of the model, in place of its own.
        version: of these weights, for the record; the engine's unless given.
        rereads: whether the model reads each prompt from its beginning, so that what is sampled depends on the prompts
            of a round alone, and in no digit on what was computed before.
        earlier: turns that were played before a kill; see :meth:`finish`.
    """

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: ActionTokenizer,
        generator: torch.Generator,
        playing: Callable[[], int],
        *,
        max_new_tokens: int,
        temperature: float = 1.0,
        history: bool = True,
        beside: BatchSampler | None = None,
        weights: Weights | None = None,
        version: int | None = None,
        rereads: bool = False,
        earlier: EarlierRounds | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.history = history
        self.weights = weights
        self.version = version
        self.tokens = 0
        """Tokens read and sampled so far."""
        self._generator = generator
        self._rounds: Rounds = Rounds(playing) if beside is None else beside._rounds
        self._rounds.samplers.append(self)
        self._max_new_tokens = max_new_tokens
        self._temperature = temperature
        self.rereads = rereads
        self._earlier = EarlierRounds({}) if earlier is None else earlier
        self._cache: Any = None
        self._cached: list[SampledRow] = []
        """The agents of the rows of the cache."""

    def agent(self, env: Env[Any, Any]) -> SampledAgent:
        """Return the policy for an environment."""
        return SampledAgent(self, env.spec.id if env.spec else "")

    def ask(self, agent: SampledRow) -> None:
        """Answer an agent together with all others that are playing."""
        self._rounds.ask(self, agent)

    def answer(self, agents: Sequence[SampledRow], generator: torch.Generator | None = None) -> None:
        """Answer agents in the order of their keys, together with those that were answered in this round before a kill.

        Args:
            agents: at least one.
            generator: of the samples; the sampler's by default.
        """
        for earlier in self._earlier.before(self._rounds.number):
            self._draw_past(earlier)
        asked = {agent.key for agent in agents}
        known = [row for row in self._earlier.of(self._rounds.number) if row.key not in asked]
        rows: list[SampledRow] = sorted([*agents, *known], key=lambda row: row.key)
        try:
            with using_weights(self.model, self.weights):
                self._sample(rows, generator or self._generator)
        except Exception as error:  # each episode then fails with it
            for agent in agents:
                agent.fail(error)

    def finish(self) -> None:
        """Draw past the earlier rounds that are left, so that the generator is where it was after them."""
        for rows in self._earlier.rest():
            self._draw_past(rows)

    def _draw_past(self, rows: Sequence[EarlierRow]) -> None:
        """Draw as :meth:`_sample` did for these turns: for each row, until the longest of them had ended."""
        for _ in range(max(row.sampled for row in rows)):
            if self._temperature:
                draw(len(rows), self._generator)

    @torch.inference_mode()
    def _sample(self, agents: list[SampledRow], generator: torch.Generator) -> None:
        device = self.model.device
        lengths = torch.tensor([len(agent.ids) for agent in agents], device=device)
        longest = min(int(lengths.max()) + self._max_new_tokens, self.model.context)
        hidden, cache = self._read(agents)
        values = self.model.values(hidden).tolist()
        sampled: list[Tensor] = []
        logprobs: list[Tensor] = []
        over = torch.zeros(len(agents), dtype=torch.bool, device=device)
        for step in range(self._max_new_tokens):
            token, logprob = sample_tokens(self.model.logits(hidden), self._temperature, generator)
            sampled.append(token)
            logprobs.append(logprob)
            over |= token == self.tokenizer.end
            place = lengths + step
            if bool(over.all()) or int(place.max()) >= longest or step + 1 == self._max_new_tokens:
                break
            hidden = self.model.extend(token[:, None], place[:, None], cache)[:, 0]
        self.tokens += len(sampled) * len(agents)
        chosen, known = torch.stack(sampled, 1).tolist(), torch.stack(logprobs, 1).tolist()
        for agent, tokens, surprises, value in zip(agents, chosen, known, values, strict=True):
            count = tokens.index(self.tokenizer.end) + 1 if self.tokenizer.end in tokens else len(tokens)
            agent.take(tokens[:count], surprises[:count], value)

    def _read(self, agents: list[SampledRow]) -> tuple[Tensor, Any]:
        """Return the states of the agents' last tokens, ``(agents, width)``, and the cache of all tokens.

        Where nothing is cached, equal prompts, such as those of a group, are computed once.
        """
        if self._select(agents):
            return self._extend(agents), self._cache
        prompts = [tuple(agent.ids) for agent in agents]
        rows = {ids: row for row, ids in enumerate(dict.fromkeys(prompts))}
        if len(rows) == len(agents):
            return self._extend(agents), self._cache
        self._cache = self.model.new_cache(len(rows))
        hidden = self._extend([agents[prompts.index(ids)] for ids in rows])
        copies = torch.tensor([rows[ids] for ids in prompts])
        self._cache.select(copies, torch.ones(len(agents), dtype=torch.bool))
        return hidden[copies.to(hidden.device)], self._cache

    def _extend(self, agents: list[SampledRow]) -> Tensor:
        """Read the tokens that the cache lacks of the agents of its rows; return the states of the last ones."""
        device = self.model.device
        lengths = torch.tensor([len(agent.ids) for agent in agents], device=device)
        cached = torch.tensor([agent.cached for agent in agents], device=device)
        width = int((lengths - cached).max())
        # Shorter rows repeat their last token.
        places = torch.minimum(cached[:, None] + torch.arange(width, device=device), lengths[:, None] - 1)
        ids = padded([agent.ids[agent.cached :] for agent in agents], 0, torch.long, device)
        ids = ids.gather(1, places - cached[:, None])
        self.tokens += ids.numel()
        last = lengths - cached - 1
        return self.model.extend(ids, places, self._cache)[torch.arange(len(agents), device=device), last]

    def _select(self, agents: list[SampledRow]) -> bool:
        """Make the cache one with a row for each agent; return whether any of them has something cached.

        Of an agent whose row is gone, nothing is cached.
        """
        rows = {agent: row for row, agent in enumerate(self._cached)}
        kept = [agent in rows and agent.cached > 0 for agent in agents]
        if not any(kept):
            self._cache = self.model.new_cache(len(agents))
        elif agents != self._cached or not all(kept):
            self._cache.select(torch.tensor([rows.get(agent, 0) for agent in agents]), torch.tensor(kept))
        for agent, has_row in zip(agents, kept, strict=True):
            agent.cached = agent.cached if has_row else 0
        self._cached = list(agents)
        return any(kept)


def sample_tokens(logits: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the next token of each row and its natural-log probability at temperature 1, ``(rows,)`` each.

    Args:
        logits: ``(rows, vocabulary)``.
        temperature: 0 takes the most probable token.
        generator: on the CPU, so that all devices draw the same numbers.
    """
    logprobs = logits.log_softmax(-1)
    if temperature == 0:
        token = logits.argmax(-1)
    else:
        scaled = logprobs if temperature == 1 else (logits / temperature).log_softmax(-1)
        # The inverse of the distribution function: a twentieth of the time of torch.multinomial.
        sums = scaled.exp().cumsum(-1)
        drawn = draw(len(sums), generator).to(sums.device) * sums[:, -1:]
        token = torch.searchsorted(sums, drawn, right=True).squeeze(1).clamp_(max=logits.shape[1] - 1)
    return token, logprobs.gather(1, token[:, None]).squeeze(1)


def draw(rows: int, generator: torch.Generator) -> Tensor:
    """Return a number in [0, 1) for each row, ``(rows, 1)``."""
    return torch.rand(rows, 1, generator=generator)


class SampledAgent(Policy[Any, str]):
    """The model in one environment; see :meth:`BatchSampler.agent`."""

    def __init__(self, sampler: BatchSampler, env: str) -> None:
        self.key: RowKey = (env, 0, 0)
        self.ids: list[int] = []
        """The tokens of the episode so far."""
        self.round = 0
        """How many turns were recalled, and thus the first round in which it has to be asked."""
        self.cached = 0
        """How many of them the cache has."""
        self._sampler = sampler
        self._conversation = sampler.tokenizer.conversation()
        self._answer: asyncio.Future[Act] | None = None

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Note the episode's key, which decides its place in a batch."""
        self.key = (self.key[0], seed, repetition)

    async def reset(self, observation: Any, info: Info) -> None:
        self._forget()
        self.round = 0

    def recall(self, observation: Any, info: Info, act: Act) -> None:
        """Go on after a turn that was played before the trainer was killed."""
        self._see(observation)
        self._said(act.token_ids or [])
        self.round += 1

    async def act(self, observation: Any, info: Info) -> Act:
        """Return the sampled action, with its tokens and the value of the state before it in the metadata.

        Raises:
            EpisodeLimitError: if the episode no longer fits into the model's context.
        """
        self._see(observation)
        if len(self.ids) >= self._sampler.model.context:
            raise EpisodeLimitError("context")
        self._answer = asyncio.get_running_loop().create_future()
        self._sampler.ask(self)
        return await self._answer

    def take(self, tokens: list[int], logprobs: list[float], value: float) -> None:
        """Receive the sampled tokens."""
        tokenizer, prompt = self._sampler.tokenizer, self.ids
        self._said(tokens)
        self.cached = 0 if self._sampler.rereads else len(self.ids) - 1  # the last token has been sampled, not read
        ended = tokens[-1] == tokenizer.end
        act = Act(
            tokenizer.decode(tokens),
            prompt_token_ids=prompt,
            token_ids=tokens,
            logprobs=logprobs,
            finish_reason="stop" if ended else "length",
            metadata={"value": value},
            version=self._sampler.version,
        )
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(act)

    def _see(self, observation: Any) -> None:
        """Take in what the model reads before its next action."""
        if not self._sampler.history:
            self._forget()
        self.ids = self._conversation.prompt(str(observation))

    def _said(self, tokens: list[int]) -> None:
        """Take in what the model has answered."""
        self.ids = self.ids + tokens
        self._conversation.note(tokens)

    def _forget(self) -> None:
        """Begin a conversation."""
        self._conversation = self._sampler.tokenizer.conversation()
        self.ids, self.cached = [], 0

    def fail(self, error: Exception) -> None:
        """Receive an error in place of tokens."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
