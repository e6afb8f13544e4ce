"""The worker's side: an engine that plays what it is given, until the evaluation ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress

from gem_eval.runs.agents import EvaluatedAgent, completed, open_agent
from gem_eval.runs.episode_line import EpisodeLine, packed
from gem_eval.runs.resolution import episode_limits, wrapped_specs
from gem_eval.runs.workers.messages import message, receive
from gem_eval.runs.workers.share import WorkerShare
from gem_rollout import EpisodeRequest, RolloutEngine, TurnJournal
from gem_rollout.trajectory import EpisodeKey
from gem_rollout.trajectory.encoder import TrajectoryEncoder

__all__ = ["main"]

_BATCH = 256
"""Episodes of one message."""
_STATE_SECONDS = 1.0
_GRACE = 10.0
"""Seconds that a worker has to end after its evaluation."""


def main() -> None:
    """Be a worker; the arguments are the descriptors of the channel and of a pipe that ends with the evaluation."""
    channel, lifeline = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    for descriptor in (channel.fileno(), lifeline):
        os.set_inheritable(descriptor, False)
    threading.Thread(target=_end_with_evaluation, args=[lifeline], daemon=True).start()
    with suppress(asyncio.CancelledError):
        asyncio.run(_work(channel))


def _end_with_evaluation(lifeline: int) -> None:
    """End this process and its children where it does not do so in time by itself, in whatever code it is."""
    with suppress(OSError):
        os.read(lifeline, 1)
    time.sleep(_GRACE)
    os.killpg(0, signal.SIGKILL)


async def _work(channel: socket.socket) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    reader, writer = await asyncio.open_connection(sock=channel)
    first = await receive(reader)
    if first is None:
        return
    settings = WorkerShare.from_dict(first[0]["settings"])
    try:
        agent = await open_agent(completed(settings.config))
    except Exception as error:  # also what the code of an agent raises as it is imported
        writer.write(message({"refused": f"{type(error).__name__}: {error}"}))
        with suppress(OSError):
            await writer.drain()
        return
    try:
        with TurnJournal(settings.journal) as journal:
            config = settings.config
            engine = RolloutEngine(
                [],
                agent.policy_maker(settings.run.agent),
                concurrency=config.concurrency,
                mode=config.mode,
                limits=episode_limits(config),
                retries=config.retries,
                journal=journal,
                agent=settings.run.agent,
            )
            async with engine:
                await _Worker(settings, engine, journal, agent, reader, writer).play()
    finally:
        await agent.close()


class _Worker:
    def __init__(
        self,
        settings: WorkerShare,
        engine: RolloutEngine,
        journal: TurnJournal,
        agent: EvaluatedAgent,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._journal = journal
        self._agent = agent
        self._reader, self._writer = reader, writer
        self._specs = wrapped_specs(settings.run.environments)
        self._encoder = TrajectoryEncoder()
        self._given = asyncio.Event()
        self._ending = False

    async def play(self) -> None:
        """Play what comes until the evaluation closes the channel, and deliver what is finished then."""
        self._writer.write(message({"ready": True}))
        obeying, delivering, telling = map(asyncio.ensure_future, (self._obey(), self._deliver(), self._tell()))
        try:
            await asyncio.wait((obeying, delivering), return_when=asyncio.FIRST_COMPLETED)
            if obeying.done():
                obeying.result()
                self._engine.stop()
                self._ending = True
                self._given.set()
            await delivering
        except ConnectionError:  # the evaluation has gone
            pass
        finally:
            for task in (obeying, delivering, telling):
                task.cancel()
            await asyncio.gather(obeying, delivering, telling, return_exceptions=True)

    async def _obey(self) -> None:
        engine = self._engine
        while (received := await receive(self._reader)) is not None:
            header, _ = received
            for key in header.get("kept", ()):
                self._journal.settle(EpisodeKey(*key))
            if "tune" in header:
                engine.retries = header["tune"]["retries"]
                concurrency = header["tune"]["concurrency"]
                engine.concurrency = max(1, concurrency)
                engine.paused = concurrency == 0
            if "play" in header:
                continued = {EpisodeKey(*key) for key in header.get("continue", ())}
                if continued:
                    with suppress(OSError):  # then they begin anew
                        self._journal.adopt(self._settings.unfinished, continued)
                keys = [EpisodeKey(*key) for key in header["play"]]
                engine.extend(EpisodeRequest(self._specs[key.env], key) for key in keys)
                self._given.set()

    async def _deliver(self) -> None:
        prices = self._settings.run.prices
        while True:
            finished = await self._engine.take(_BATCH)
            if finished:
                described, body = packed(EpisodeLine.of(one, self._encoder, prices) for one in finished)
                self._writer.write(message({"episodes": described}, body))
                await self._writer.drain()
            elif self._ending:
                return
            else:
                self._given.clear()
                await self._given.wait()

    async def _tell(self) -> None:
        while True:
            live = [[*one.key, one.turns, round(one.seconds, 3)] for one in self._engine.live]
            state = {"live": live, "waiting": dict(self._agent.waiting()), "limit": self._agent.request_limit()}
            self._writer.write(message({"state": state}))
            await asyncio.sleep(_STATE_SECONDS)
