"""A playground as its users start it: the command in a process of its own, and requests to it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conftest import PROJECT

COUGH = (PROJECT / "examples" / "cough.lcn").read_text(encoding="utf-8")
"""Its queries have answers by hand: P(fever) in [0.0875, 0.18], P(flu | fever) in [8/27, 2/3]."""

CONTRADICTION = "high: P(a) >= 0.6\nlow:  P(a) <= 0.4\nquery P(a)\n"


def hard(variables: int = 12, seed: int = 1) -> str:
    """Write a random credal network whose posteriors take long, and a question of that kind."""
    draw, lines = random.Random(seed), list[str]()
    for i in range(variables):
        parents = draw.sample(range(i), min(i, 3))
        for world in range(2 ** len(parents)):
            given = " and ".join(f"{'' if world >> j & 1 else '!'}x{p}" for j, p in enumerate(parents))
            low = round(draw.uniform(0.1, 0.6), 2)
            lines.append(f"{low} <= P(x{i}{f' | {given}' if given else ''}) <= {low + 0.3:.2f}")
    return "\n".join([*lines, f"query P(x1 | x{variables - 1} and !x{variables - 2})", ""])


def packed(text: str) -> str:
    """Write a model as the fragment of an address, as the page does."""
    squeezer = zlib.compressobj(wbits=-15)
    squeezed = squeezer.compress(json.dumps({"text": text}).encode()) + squeezer.flush()
    return f"#m={urlsafe_b64encode(squeezed).decode().rstrip('=')}"


@dataclass(frozen=True)
class Served:
    """A running playground."""

    address: str
    process: subprocess.Popen[str]

    @property
    def base(self) -> str:
        return urlsplit(self.address).path

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @contextmanager
    def sending(
        self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None
    ) -> Iterator[HTTPResponse]:
        usual = {} if body is None else {"Content-Type": "application/json"}
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        with closing(HTTPConnection(self.host, timeout=60)) as connection:
            connection.request(method, path, sent, {**usual, **(headers or {})})
            with connection.getresponse() as response:
                yield response

    def status(self, method: str, path: str, body: object = None, **headers: str) -> int:
        with self.sending(method, path, body, headers=headers) as response:
            response.read()
            return response.status

    def get(self, path: str = "", **headers: str) -> tuple[int, str]:
        with self.sending("GET", self.base + path, headers=headers) as response:
            return response.status, response.read().decode()

    def post(self, path: str, body: object, **headers: str) -> tuple[int, Any]:
        with self.sending("POST", self.base + path, body, headers=headers) as response:
            return response.status, json.loads(response.read())

    def read(self, text: str, **more: object) -> dict[str, Any]:
        status, found = self.post("read", {"text": text, **more})
        assert status == 200
        assert isinstance(found, dict)
        return found

    def ask(self, text: str, kind: str = "ask", **more: object) -> list[dict[str, Any]]:
        with self.sending("POST", f"{self.base}ask", {"text": text, "kind": kind, **more}) as response:
            assert response.status == 200
            assert (response.getheader("content-type") or "").startswith("text/event-stream")
            return list(events(response.read().decode()))


def events(stream: str) -> Iterator[dict[str, Any]]:
    """Read server-sent events."""
    for block in stream.strip().split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['event']}"
        yield event


@contextmanager
def playground(*words: str, folder: Path = PROJECT) -> Iterator[Served]:
    """Run the command until the end of the block, and end it as a user does."""
    command = [sys.executable, "-m", "credalog", "play", "--no-browser", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/(#\S*)?", address), address
            yield Served(address, process)
        finally:
            with suppress(ProcessLookupError):
                process.terminate() if os.name == "nt" else process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
