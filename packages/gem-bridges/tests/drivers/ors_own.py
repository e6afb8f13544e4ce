"""An environment written with openreward, served, or played by its own code. Arguments: ``serve PORT``, or ``play``."""

import asyncio
import json
import os
import sys

from openreward.environments import Environment, ImageBlock, Server, TextBlock, ToolOutput, terminal, tool
from pydantic import BaseModel


class Guess(BaseModel):
    number: int


class Answer(BaseModel):
    answer: str


class Digits(Environment):
    """Guess the digit of the task, then say it in words."""

    @classmethod
    def list_splits(cls):
        return ["train", "test"]

    @classmethod
    def list_tasks(cls, split):
        return [{"digit": digit} for digit in (range(5) if split == "train" else range(5, 8))]

    def setup(self):
        self.guesses = 0

    def get_prompt(self):
        return [TextBlock(text="A digit is hidden."), TextBlock(text="Find it.")]

    @tool
    def guess(self, args: Guess) -> ToolOutput:
        """Guess the digit."""
        self.guesses += 1
        right = args.number == self.task_spec["digit"]
        return ToolOutput(
            blocks=[TextBlock(text="Right." if right else "Wrong.")],
            reward=0.25 if right else -0.125,
            finished=self.guesses >= 3,
            metadata={"guesses": self.guesses},
        )

    @tool
    def look(self) -> ToolOutput:
        """Look at a picture."""
        return ToolOutput(blocks=[TextBlock(text="A picture:"), ImageBlock(data="QUJD", mimeType="image/png")])

    @tool
    def crash(self) -> ToolOutput:
        """Fail."""
        raise RuntimeError("the digits are gone")

    @terminal
    @tool
    def submit(self, args: Answer) -> ToolOutput:
        """Say the digit."""
        right = args.answer.strip() == str(self.task_spec["digit"])
        return ToolOutput(blocks=[TextBlock(text="Over.")], reward=float(right), finished=True)


PLAYS = [
    [("guess", {"number": 0}), ("look", {}), ("submit", {"answer": "0"})],
    [("guess", {"number": 9})] * 3,
    [("guess", {"digit": 9}), ("shout", {}), ("guess", {"number": 2}), ("submit", {"answer": "two"})],
]


async def played(index, calls):
    """Return the turns of an episode."""
    env = Digits(task_spec=await Digits.get_task("train", index))
    env.setup()
    turns = []
    for name, arguments in calls:
        output = (await env._call_tool(name, arguments)).root
        if output.ok:
            texts = [block.text for block in output.output.blocks if block.type == "text"]
            turns.append(["\n".join(texts), output.output.reward or 0.0, output.output.finished])
        else:
            turns.append([output.error, 0.0, False])
    return turns


async def main():
    """Play all plays on all tasks."""
    return [[await played(index, calls) for calls in PLAYS] for index in range(5)]


if sys.argv[1] == "serve":
    os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"
    Server([Digits]).run(host="127.0.0.1", port=int(sys.argv[2]))
else:
    print(json.dumps({"plays": PLAYS, "turns": asyncio.run(main())}))
