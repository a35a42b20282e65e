"""All that a browser meets: the page, what it reads while one types, and streams of answers.

Input: requests on the loopback interface, under an address with a secret in it. Output: static files, JSON
and server-sent events. Whoever does not know the secret, or comes under another name, is told nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from credalog.play.gallery import gallery
from credalog.play.limits import ANSWERING, GRACE, LONGEST, MOST_BYTES, READING
from credalog.play.workers import Crew

__all__ = ["Playground", "application"]

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

FILES = Path(__file__).parent / "page"
KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
HOSTS = ("127.0.0.1", "localhost")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page loads nothing but its own files; the editor's styles carry the nonce."""


FIRST_TEXT = {"kind": "read", "text": "0.2 <= P(a) <= 0.3"}
FIRST_QUESTION = {**FIRST_TEXT, "kind": "ask", "question": "P(a)"}
"""What a process is asked before anybody comes, so that the first question does not wait for it."""


@dataclass(frozen=True, slots=True)
class Playground:
    """What one server is: its secret, and the model it opens with."""

    token: str = field(default_factory=lambda: token_urlsafe(18))
    opened: dict[str, Any] | None = None
    """The name, the text and the files of the model that was named on the command line."""


# ---- who may come in ----------------------------------------------------------------------------------


class Door:
    """Let in who comes from this machine by its own name, from our own page, with a body of a decent size."""

    def __init__(self, inside: ASGIApp) -> None:
        self._inside = inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with security headers on whatever is answered."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                added = {"Content-Security-Policy": POLICY.format(nonce=""), **HEADERS}
                raw = ((name.lower().encode(), value.encode()) for name, value in added.items())
                message["headers"] = [*message["headers"], *((n, v) for n, v in raw if n not in names)]
            await send(message)

        refusal = _refusal(Request(scope))
        await (refusal or self._inside)(scope, receive, guarded)


def _refusal(request: Request) -> Response | None:
    host = request.headers.get("host", "")
    if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
        return PlainTextResponse("This page is served to this machine only.\n", 421)
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return PlainTextResponse("Another page may not ask here.\n", 403)
    return None


def _known(playground: Playground, handler: Handler) -> Handler:
    """Show something only to those who know the secret; to others it is not there."""

    async def checked(request: Request) -> Response:
        if not compare_digest(request.path_params["token"].encode(), playground.token.encode()):
            message = "There is nothing here.\nUse the address that `credalog play` printed.\n"
            return PlainTextResponse(message, 404)
        return await handler(request)

    return checked


async def _sent(request: Request) -> dict[str, Any]:
    """Read the object that a page sends, up to a limit."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "send JSON")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"the model is longer than {MOST_BYTES:,} bytes: use the command line")
    try:
        sent = json.loads(body)
    except ValueError:
        raise HTTPException(400, "send JSON") from None
    if not isinstance(sent, dict):
        raise HTTPException(400, "send an object")
    return sent


async def _complaint(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"message": error.detail}, error.status_code)


def _json(told: object, status: int = 200) -> Response:
    # In plain letters: what is no character of Unicode may stand in a text, and cannot be encoded otherwise.
    return Response(json.dumps(told), status, media_type="application/json")


# ---- what there is ------------------------------------------------------------------------------------


class _Desk:
    """The handlers of one playground: a crew that reads at once, and one whose work may take long."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground
        self.reading = Crew(1)
        self.answering = Crew()

    async def page(self, request: Request) -> Response:
        """Return the page itself, its editor's styles allowed by a nonce."""
        nonce = token_urlsafe(18)
        html = (FILES / "index.html").read_text(encoding="utf-8").replace("{{nonce}}", escape(nonce))
        policy = POLICY.format(nonce=f" 'nonce-{nonce}'")
        return Response(html, media_type="text/html", headers={"Content-Security-Policy": policy})

    async def file(self, request: Request) -> Response:
        """Return one of the page's own files."""
        path = FILES / request.path_params["name"]
        if path.parent != FILES or path.suffix not in KINDS or not path.is_file():
            return PlainTextResponse("There is nothing here.\n", 404)
        return Response(path.read_bytes(), media_type=KINDS[path.suffix])

    async def examples(self, request: Request) -> Response:
        """Return the gallery, and the model to begin with."""
        return _json({"examples": gallery(), "opened": self._playground.opened})

    async def read(self, request: Request) -> Response:
        """Say what a text amounts to, or what one of its variables does."""
        sent = await _sent(request)
        kind = "node" if sent.get("kind") == "node" else "read"
        found: dict[str, Any] = {}
        async for event in self.reading.events({**sent, "kind": kind}, seconds=READING):
            found = found if event["event"] == "done" else event
        return _json(found)

    async def ask(self, request: Request) -> Response:
        """Stream what is found of a question."""
        sent = await _sent(request)
        return StreamingResponse(self._stream(sent), media_type="text/event-stream")

    async def _stream(self, sent: dict[str, Any]) -> AsyncIterator[str]:
        name, wanted = str(sent.get("id", "")), sent.get("seconds", ANSWERING)
        seconds = min(float(wanted), LONGEST) if isinstance(wanted, int | float) else ANSWERING
        # Certificates and repairs have several limits of their own.
        most = seconds + GRACE if sent.get("kind") in ("ask", "marginals") else 4 * seconds + GRACE
        async with aclosing(self.answering.events(sent, seconds=most, name=name)) as events:
            async for event in events:
                yield f"event: {event['event']}\ndata: {json.dumps(event)}\n\n"

    async def stop(self, request: Request) -> Response:
        """Stop a job by the name that the page gave it."""
        sent = await _sent(request)
        return _json({"stopped": await self.answering.stop(str(sent.get("id", "")))})

    @asynccontextmanager
    async def at_work(self, _: Starlette) -> AsyncIterator[None]:
        """Have both crews ready while the server runs, and end them with it."""
        first = [self.reading.ready(FIRST_TEXT), self.answering.ready(FIRST_QUESTION)]
        warming = [asyncio.create_task(each) for each in first]
        try:
            yield
        finally:
            for task in warming:
                task.cancel()
            await asyncio.gather(*warming, return_exceptions=True)
            await self.reading.dismiss()
            await self.answering.dismiss()


def application(playground: Playground) -> ASGIApp:
    """Return the application of a playground."""
    desk = _Desk(playground)
    table: tuple[tuple[str, str, Handler], ...] = (
        ("GET", "/{token}/", desk.page),
        ("GET", "/{token}/page/{name}", desk.file),
        ("GET", "/{token}/examples", desk.examples),
        ("POST", "/{token}/read", desk.read),
        ("POST", "/{token}/ask", desk.ask),
        ("POST", "/{token}/stop", desk.stop),
    )
    routes = [Route(path, _known(playground, handler), methods=[method]) for method, path, handler in table]
    complaints = {HTTPException: _complaint}
    return Door(Starlette(routes=routes, lifespan=desk.at_work, exception_handlers=complaints))
