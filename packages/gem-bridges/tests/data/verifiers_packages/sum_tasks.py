"""A task set in the form of verifiers 0.4: sums with a system prompt, a reward of two parts and a metric."""

from collections.abc import Iterator

import verifiers.v1 as vf


class SumData(vf.TaskData):
    """A sum."""

    answer: str


class SumConfig(vf.TasksetConfig):
    """How many sums."""

    count: int = 5


class SumTask(vf.Task[SumData]):
    """Rewards the sum, and a little a full stop."""

    @vf.reward(weight=1.0)
    async def right(self, trace) -> float:
        return float(self.data.answer in trace.last_reply.split())

    @vf.reward(weight=0.25)
    async def stops(self, trace) -> float:
        return float(trace.last_reply.endswith("."))

    @vf.metric
    async def length(self, trace) -> float:
        return float(len(trace.last_reply))


class Sums(vf.Taskset[SumTask, SumConfig]):
    """Sums of a number with itself."""

    def load(self) -> Iterator[SumTask]:
        for number in range(self.config.count):
            prompt = f"What is {number} and {number}?"
            data = SumData(name=str(number), prompt=prompt, system_prompt="Be brief.", answer=str(2 * number))
            yield SumTask(data, self.config.task)


__all__ = ["Sums"]
