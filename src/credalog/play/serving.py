"""Start the page, and end it.

Input: a port, a model to open. Output: a server on the loopback interface until Ctrl-C.
"""

from __future__ import annotations

import os
import socket
import webbrowser
from collections.abc import Callable
from importlib import import_module
from threading import Timer

from credalog.errors import CredalogError, MissingLibrary, Option

__all__ = ["HOST", "listening", "open_browser", "require_libraries", "serve"]

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
    return (getattr(error, "strerror", None) or str(error)).lower()


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
