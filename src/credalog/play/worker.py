"""The process in which the engine runs: it can be killed without harm to anybody.

Input: lines of JSON on standard input, a job each, or the order to stop the one under way. Output: lines of
JSON on standard output, the events of a job, the last of which is `done` or `failed`. The end of its input is
the end of the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from _thread import interrupt_main
from collections.abc import Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

from credalog.errors import CredalogError
from credalog.play.answering import Asked, events
from credalog.play.limits import MEMORY
from credalog.play.pages import Page, told
from credalog.play.reading import looked_at, read

__all__ = ["main"]


class Worker:
    """One job after the other, and the model of the last one, which the next is likely to be about."""

    def __init__(self, orders: IO[str], reports: IO[str]) -> None:
        self._orders = orders
        self._reports = reports
        self._jobs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._lock = threading.Lock()
        self._under_way: object = None
        self._called_off: object = None
        self._kept: tuple[object, Any] | None = None

    def run(self) -> None:
        """Do jobs until the input ends."""
        threading.Thread(target=self._listen, daemon=True).start()
        self.tell({"event": "ready"})
        while True:
            # An order to stop that comes too late must not end the process.
            with suppress(KeyboardInterrupt):
                self._do(self._jobs.get())

    def _listen(self) -> None:
        for line in self._orders:
            order = json.loads(line)
            if "stop" not in order:
                self._jobs.put(order)
                continue
            with self._lock:
                self._called_off = order["stop"]
                if self._under_way == self._called_off:
                    interrupt_main()
        os._exit(0)

    def _do(self, sent: dict[str, Any]) -> None:
        try:
            with self._lock:
                self._under_way = sent["job"]
                # The order to stop may come before the work begins.
                if self._under_way == self._called_off:
                    raise KeyboardInterrupt
            self._answer(sent)
        except KeyboardInterrupt:
            self.tell({"event": "failed", "kind": "Stopped", "message": "stopped"})
        except RecursionError:
            self._failed("RecursionError", "a formula is nested too deeply", "Name its parts.")
        except MemoryError:
            self._failed("MemoryError", "there is not enough memory for this", "Try a smaller model.")
        finally:
            self._under_way = None

    def _answer(self, sent: dict[str, Any]) -> None:
        page = Page("")
        try:
            page = Page.of(sent)
            match sent.get("kind"):
                case "read":
                    self.tell({"event": "read", **read(page, sent)})
                case "node":
                    self.tell({"event": "node", **looked_at(page, sent)})
                case _:
                    for event in events(Asked(page, self._model(page), sent, self.tell)):
                        self.tell(event)
        except CredalogError as error:
            self.tell({"event": "failed", **told(error, page)})
        else:
            self.tell({"event": "done"})

    def _model(self, page: Page) -> Any:
        """Return the model of a page; that of the last one is kept."""
        if self._kept is None or self._kept[0] != page.key:
            self._kept = (page.key, page.model())
        return self._kept[1]

    def _failed(self, kind: str, message: str, advice: str) -> None:
        self.tell({"event": "failed", "kind": kind, "message": message, "advice": advice})

    def tell(self, event: Mapping[str, Any]) -> None:
        """Write an event."""
        self._reports.write(json.dumps({"job": self._under_way, **event}, allow_nan=False) + "\n")
        self._reports.flush()


def _limit_memory() -> None:
    """Keep a hostile model from taking all memory, where the system can be told so."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        least = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (least, most))


def main() -> None:
    """Run a worker on standard input and output."""
    _limit_memory()
    # What a solver prints must not get between the events.
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    Worker(sys.stdin, reports).run()


if __name__ == "__main__":
    main()
