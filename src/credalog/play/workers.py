"""The processes that work for the page: started when needed, kept warm, stopped, and killed.

Input: jobs. Output: their events, as they come. A job that passes its limit, or whose page has gone, costs
its process its life; the next job gets another one.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

from credalog.play.limits import READING, STOPPING, WAITING

__all__ = ["Crew"]

LONGEST_LINE = 1 << 28
"""The longest event: a certificate."""

ENDINGS = ("done", "failed")

STEP = 0.02
"""Seconds between two looks at a job that was told to stop."""


@dataclass(eq=False)
class _Hand:
    """One process, and the job it is at."""

    process: Process
    job: int | None = None

    @classmethod
    async def hired(cls) -> _Hand:
        """Start a process. Ctrl-C in the terminal is for the server, which ends its workers itself."""
        words = (sys.executable, "-m", "credalog.play.worker")
        process = await asyncio.create_subprocess_exec(
            *words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=LONGEST_LINE, start_new_session=True
        )
        hand = cls(process)
        await hand.event()
        return hand

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def order(self, order: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((json.dumps(order) + "\n").encode())
        await self.process.stdin.drain()

    async def event(self) -> dict[str, Any]:
        """Wait for the next event; a process that has died has failed."""
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            await self.process.wait()
            return {"event": "failed", "kind": "Killed", "message": "the engine ended unexpectedly"}
        event: dict[str, Any] = json.loads(line)
        return event

    async def dismiss(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


@dataclass
class Crew:
    """Processes for one lane of jobs, so many at most."""

    size: int = WAITING
    _idle: list[_Hand] = field(default_factory=list)
    _busy: dict[int, _Hand] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _called_off: set[int] = field(default_factory=set)
    _numbers: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.size)

    async def ready(self, job: Mapping[str, Any]) -> None:
        """Start a process before anybody asks, and let it load what a first job needs."""
        async for _ in self.events(job, seconds=READING):
            pass

    async def events(
        self, job: Mapping[str, Any], *, seconds: float, name: str = ""
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of a job, which is killed when its seconds are over or nobody listens any more."""
        number = self._names[name] = next(self._numbers)
        try:
            async with self._places, self._at_work(number) as hand:
                async for event in self._found(hand, {**job, "job": number}, seconds):
                    yield event
        except TimeoutError:
            yield {"event": "failed", "kind": "OutOfTime", "message": f"not done within {seconds:g} s"}
        finally:
            self._called_off.discard(number)
            if self._names.get(name) == number:
                del self._names[name]

    async def _found(
        self, hand: _Hand, job: Mapping[str, Any], seconds: float
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a job, unless it was called off while it waited for a process."""
        if hand.job in self._called_off:
            hand.job = None
            yield {"event": "failed", "kind": "Stopped", "message": "stopped"}
            return
        async for event in _until(monotonic() + seconds, hand, job):
            yield event

    async def stop(self, name: str) -> bool:
        """Let a job end with what it has found; one that does not end soon is killed."""
        number = self._names.get(name)
        if number is None:
            return False
        self._called_off.add(number)
        hand = self._busy.get(number)
        if hand is not None:
            with suppress(ConnectionError):
                await hand.order({"stop": number})
            await self._end(hand, number)
        return True

    async def _end(self, hand: _Hand, number: int) -> None:
        """Wait for a job to end, and kill it where it takes too long."""
        for _ in range(round(STOPPING / STEP)):
            if hand.job != number:
                return
            await asyncio.sleep(STEP)
        await hand.dismiss()

    async def dismiss(self) -> None:
        """End all processes."""
        for hand in (*self._idle, *self._busy.values()):
            await hand.dismiss()
        self._idle.clear()

    @asynccontextmanager
    async def _at_work(self, number: int) -> AsyncIterator[_Hand]:
        hand = await self._hand()
        hand.job = number
        self._busy[number] = hand
        try:
            yield hand
        finally:
            del self._busy[number]
            # A hand that is still at its job would mix its events with those of the next.
            if hand.job is None and hand.is_alive:
                self._idle.append(hand)
            else:
                await asyncio.shield(hand.dismiss())

    async def _hand(self) -> _Hand:
        while self._idle:
            hand = self._idle.pop()
            if hand.is_alive:
                return hand
        return await _Hand.hired()


async def _until(deadline: float, hand: _Hand, order: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Give an order, and yield the events of the job until it ends.

    A job that is stopped as it ends may say so twice: what is left of it is no event of the next one.
    """
    await hand.order(order)
    while hand.job is not None:
        event = await asyncio.wait_for(hand.event(), max(0.0, deadline - monotonic()))
        if event.get("job", order["job"]) != order["job"]:
            continue
        if event["event"] in ENDINGS:
            hand.job = None
        yield event
