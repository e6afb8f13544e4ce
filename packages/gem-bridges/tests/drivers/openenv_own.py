"""An environment with tasks, written with openenv, to serve or to play. Arguments: ``serve PORT``, or ``play``."""

import json
import sys

from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app


class Guess(Action):
    number: int


class Told(Observation):
    text: str


class Digits(Environment):
    """Guess the digit of a task: the task's number in ``train``, and three more in ``test``."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.digit, self.turns = 0, 0

    def list_splits(self):
        return ["train", "test"]

    def num_tasks(self, split):
        return 5 if split == "train" else 3

    def get_task(self, split, index):
        return {"digit": range(5)[index] if split == "train" else range(3, 6)[index]}

    def reset(self, seed=None, episode_id=None, split="train", index=0):
        self.digit, self.turns = self.get_task(split, index)["digit"], 0
        return Told(text=f"A digit is hidden in {split}.", done=False, reward=None)

    def step(self, action, timeout_s=None):
        self.turns += 1
        right = action.number == self.digit
        text = "Right." if right else f"Wrong, {self.turns}."
        return Told(text=text, reward=1.0 / self.turns if right else -0.25, done=right or self.turns == 3)

    @property
    def state(self):
        return State(step_count=self.turns)


PLAYS = [[0, 1, 2], [4], [3, 4], [5, 5, 5]]


def played(split, index, numbers):
    """Return the turns of an episode."""
    env = Digits()
    turns = [[env.reset(split=split, index=index).text, 0.0, False]]
    for number in numbers:
        told = env.step(Guess(number=number))
        turns.append([told.text, told.reward, told.done])
        if told.done:
            break
    return turns


if sys.argv[1] == "serve":
    import uvicorn

    app = create_fastapi_app(Digits, Guess, Told, max_concurrent_envs=4, env_name="digits")
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
else:
    cases = [(split, index) for split, count in (("train", 5), ("test", 3)) for index in range(count)]
    print(json.dumps([[split, index, n, played(split, index, n)] for split, index in cases for n in PLAYS]))
