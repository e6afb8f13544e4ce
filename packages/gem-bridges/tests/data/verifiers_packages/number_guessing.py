"""A multi-turn environment, whose numbers come from Python's global generator as in many packages."""

import random

import verifiers as vf
from datasets import Dataset


class NumberGuessing(vf.MultiTurnEnv):
    """Guess a number from 1 to 100 within eight turns, the last of which is not answered."""

    async def setup_state(self, state: vf.State) -> vf.State:
        state["number"] = random.randint(1, 100)
        return state

    @vf.stop
    async def is_found(self, state: vf.State) -> bool:
        return bool(state.get("found"))

    async def env_response(self, messages: vf.Messages, state: vf.State) -> vf.Messages:
        guess = int(messages[-1]["content"].split()[-1])
        state["found"] = guess == state["number"]
        if state["found"]:
            state["final_env_response"] = [{"role": "user", "content": f"Yes, {guess}."}]
            return state["final_env_response"]
        return [{"role": "user", "content": "higher" if guess < state["number"] else "lower"}]


def load_environment() -> vf.Environment:
    """Ten games."""
    rows = [{"question": f"Game {row}: guess my number from 1 to 100.", "answer": ""} for row in range(10)]

    def found(state: vf.State) -> float:
        return float(bool(state.get("found")))

    def haste(state: vf.State) -> float:
        return 1.0 / len(state["trajectory"])

    return NumberGuessing(dataset=Dataset.from_list(rows), rubric=vf.Rubric([found, haste], [1.0, 0.0]), max_turns=8)
