"""All that a browser meets: the page, what it reads while one types, and streams of answers.

Input: requests on the loopback interface, under an address with a secret in it. Output: static files, JSON
and server-sent events. Whoever does not know the secret, or comes under another name, is told nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import tomllib
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from threading import Timer
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from credalog.errors import CredalogError, MissingLibrary, Option
from credalog.play.limits import ANSWERING, GRACE, LONGEST, MOST_BYTES, READING
from credalog.play.workers import Crew

__all__ = [
    "HOST",
    "Playground",
    "application",
    "copy_examples",
    "gallery",
    "listening",
    "open_browser",
    "require_libraries",
    "serve",
]

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


# ---- the gallery ------------------------------------------------------------------------------------------
# The examples that the page offers, and that `credalog examples` writes.
# Input: `gallery.toml`, and the examples that are shipped beside it. Output: for each its title, what it
# shows, its text and the files that come with it; or a folder of all.

HERE = Path(__file__).parent
SHIPPED = HERE / "examples"
IN_THE_PROJECT = HERE.parents[2] / "examples"
"""Where the examples are before they are shipped."""


def copy_examples(folder: Path) -> None:
    """Write all examples with their data and pages to a folder, which must not be there yet."""
    if folder.exists():
        raise CredalogError(
            f"{folder} is there already", advice="Name another folder: credalog examples FOLDER"
        )
    try:
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            shutil.copytree(_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
            undo.pop_all()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CredalogError(f"{folder} cannot be written: {why}", advice="Name another folder.") from None


def _folder() -> Path:
    return SHIPPED if SHIPPED.is_dir() else IN_THE_PROJECT


@cache
def gallery() -> tuple[dict[str, Any], ...]:
    """Return the examples in the order in which they are told."""
    listed = tomllib.loads((HERE / "gallery.toml").read_text(encoding="utf-8"))["example"]
    return tuple(_shown(one, _folder()) for one in listed)


def _shown(one: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / one["file"]
    beside = {name: (path.parent / name).read_text(encoding="utf-8") for name in one.get("with", [])}
    name = Path(one["file"]).with_suffix("").as_posix()
    return {
        "name": name,
        "file": one["file"],
        "title": one["title"],
        "shows": one["shows"],
        "text": path.read_text(encoding="utf-8"),
        "files": beside,
        "asked": one.get("asks", []),
    }


# ---- start and end ----------------------------------------------------------------------------------------
# Start the page, and end it.
# Input: a port, a model to open. Output: a server on the loopback interface until Ctrl-C.

HOST = "127.0.0.1"
"""Other machines cannot come in."""

ENDING = 1
"""Seconds in which open connections may end by themselves."""


def require_libraries() -> None:
    """Complain where the libraries of the page are not installed."""
    for library, name in (("starlette", "Starlette"), ("uvicorn", "uvicorn")):
        try:
            import_module(library)
        except ImportError:
            otherwise = "ask on the command line: `credalog run FILE`"
            raise MissingLibrary.of(name, "play", otherwise=otherwise) from None


def listening(port: int) -> socket.socket:
    """Return a socket on a port of this machine; 0 takes any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        # A port that was left a minute ago may be taken again; elsewhere the option would share it.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except (OSError, OverflowError) as error:
        found.close()
        raise CredalogError(
            f"port {port} cannot be used: {_why(error)}",
            advice="Leave {} out, and a free port is taken.",
            remedies=(Option("port", port),),
        ) from None
    return found


def _why(error: OSError | OverflowError) -> str:
    if isinstance(error, OverflowError):
        return "ports go from 0 to 65535"
    return (error.strerror or str(error)).lower()


def serve(application: object, on: socket.socket, *, announce: Callable[[], None]) -> None:
    """Serve the page until Ctrl-C; `announce` is called once it can be opened."""
    import uvicorn

    class Server(uvicorn.Server):
        """A server that says when it is ready."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Begin to listen, and say so."""
            await super().startup(sockets=sockets)
            announce()

    settings = uvicorn.Config(
        application,  # type: ignore[arg-type]
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=ENDING,
        server_header=False,
    )
    try:
        Server(settings).run(sockets=[on])
    except KeyboardInterrupt:
        # Ctrl-C is how the page is meant to end.
        return
    finally:
        on.close()


def open_browser(address: str) -> None:
    """Show the page in the user's browser, without waiting for it."""
    Timer(0.0, webbrowser.open, [address]).start()
