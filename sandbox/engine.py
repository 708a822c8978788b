"""The half of a sandbox that knows nothing of processes: order, laziness, equal items, what is remembered."""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any, Literal, Self

from sandbox.outcome import Outcome
from sandbox.remembered import Remembered
from sandbox.requirements import check_grammar


@dataclass(frozen=True)
class Item:
    """One thing to judge: a chat reply, or a component's code (`language` "jsx" or "tsx"; None tries both)."""

    text: str
    kind: Literal["reply", "code"] = "reply"
    language: str | None = None
    requirements: tuple[Mapping[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """Equal for equal items."""
        fields = json.dumps([self.kind, self.language, self.requirements, self.text], sort_keys=True)
        return hashlib.sha256(fields.encode()).hexdigest()


@dataclass(frozen=True)
class Done:
    """An item's key and its outcome. `certain`: another time it would end in the same way."""

    key: str
    outcome: Outcome
    certain: bool = True


class Run(ABC):
    """The work of one call of `run` or `stream`; all but `end` belongs to the thread that goes through it."""

    @property
    @abstractmethod
    def pending(self) -> int:
        """How many items are being judged."""

    @abstractmethod
    def room(self) -> int:
        """How many more items can be begun now; more than 0 when none is pending."""

    @abstractmethod
    def begin(self, items: Sequence[tuple[str, Item]]) -> list[Done]:
        """Begin to judge items, each with its key; returns those that are done already."""

    @abstractmethod
    def finished(self, *, wait: bool) -> list[Done]:
        """What is done since the last time; where `wait`, and anything is pending, something is."""

    @abstractmethod
    def end(self) -> None:
        """Give up what is pending, from any thread: whoever goes through the run gets a RuntimeError."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything, after `end`."""


class Pool(ABC):
    """`run`, `stream` and `arun`, over what a subclass opens for each of them. They may be called side by side."""

    def __init__(self) -> None:
        self._remembered = Remembered()
        self._runs: set[Run] = set()

    @abstractmethod
    def _open(self) -> Run:
        """A new run."""

    @abstractmethod
    def close(self) -> None:
        """End every process, and whatever runs. The sandbox can be used again: it starts new ones."""

    def start(self) -> None:  # noqa: B027 - a pool may have nothing to start
        """Start processes in the background, before there are items; here nothing, so the first items start them."""

    def run(self, items: Sequence[Item], *, on_done: Callable[[int, Outcome], None] | None = None) -> list[Outcome]:
        """Judge `items`; the outcomes are in their order.

        `on_done(index, outcome)` is called in this thread as each is finished. Equal items are judged once. An
        exception (Ctrl-C, or one of `on_done`) ends every process before it goes on.
        """
        for item in items:
            _check(item)
        outcomes: dict[int, Outcome] = {}
        try:
            with closing(self._judge(self._open(), items, lambda taken: len(items) + 1)) as judged:
                for index, outcome in judged:
                    outcomes[index] = outcome
                    if on_done is not None:
                        on_done(index, outcome)
        except BaseException:
            self.close()
            raise
        return [outcomes[index] for index in range(len(items))]

    def knows(self, item: Item) -> bool:
        """Whether an equal item was judged, and would cost nothing."""
        return self._remembered.get(item.key) is not None

    async def stream(self, items: Iterable[Item], *, in_flight: int = 256) -> AsyncGenerator[Outcome, None]:
        """Judge `items`, however many; yields the outcomes in their order.

        Items are taken one by one, in a thread, and no more than `in_flight` of them before the first one's outcome is
        asked for. An exception or a cancellation, or closing this generator early, ends the processes in use.
        """
        run = self._open()
        outcomes = self._in_order(run, items, max(in_flight, 1))
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        try:
            while (outcome := await loop.run_in_executor(thread, next, outcomes, None)) is not None:
                yield outcome
        finally:
            run.end()
            await loop.run_in_executor(thread, outcomes.close)
            thread.shutdown()

    async def arun(
        self, items: Iterable[Item], *, on_done: Callable[[int, Outcome], None] | None = None
    ) -> list[Outcome]:
        """`run`, for a caller that has an event loop; `on_done` is called in it, in the items' order."""
        outcomes: list[Outcome] = []
        async with aclosing(self.stream(items)) as stream:
            async for outcome in stream:
                if on_done is not None:
                    on_done(len(outcomes), outcome)
                outcomes.append(outcome)
        return outcomes

    def _in_order(self, run: Run, items: Iterable[Item], in_flight: int) -> Generator[Outcome, None, None]:
        ready: dict[int, Outcome] = {}
        given = 0
        with closing(self._judge(run, items, lambda taken: in_flight - (taken - given))) as judged:
            for index, outcome in judged:
                ready[index] = outcome
                while given in ready:
                    given += 1  # before it is given: while it is looked at, the next one may be taken
                    yield ready.pop(given - 1)

    def _judge(
        self, run: Run, items: Iterable[Item], allowed: Callable[[int], int]
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Indices and outcomes, as they come.

        `allowed(taken)` is how many further items may be taken when `taken` of them have been: more than 0 when
        nothing is being judged.
        """
        source, more, taken = enumerate(items), True, 0
        asked: dict[str, list[int]] = {}  # by key, the indices of what is being judged
        self._runs.add(run)
        try:
            while more or run.pending:
                many = min(run.room(), allowed(taken)) if more else 0
                batch = list(islice(source, many))
                more, taken = more and len(batch) == many, taken + len(batch)
                fresh: list[tuple[str, Item]] = []
                for index, item in batch:
                    _check(item)
                    if (key := item.key) in asked:
                        asked[key].append(index)
                    elif (outcome := self._remembered.get(key)) is not None:
                        yield index, outcome
                    else:
                        asked[key] = [index]
                        fresh.append((key, item))
                done = run.begin(fresh) if fresh else []
                for each in done + run.finished(wait=not done and not (many and more)):
                    if each.certain:
                        self._remembered.put(each.key, each.outcome)
                    for index in asked.pop(each.key):
                        yield index, each.outcome
        finally:
            run.end()
            run.close()
            self._runs.discard(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _check(item: Item) -> None:
    for requirement in item.requirements:
        check_grammar(requirement)
