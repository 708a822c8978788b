"""`bot-grpo report --serve`: the report of a run that goes on, from a small server on this machine.

GET / is the page, made anew when the run has logged something since; GET /stamp says what the page was made of, and the
page asks for it every few seconds. Only this machine is answered, and nothing but these two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bot_grpo.errors import UserError

HOST = "127.0.0.1"


def stamp(run_dir: Path) -> str:
    """Changes whenever the run has logged something or ended."""
    sizes = [(run_dir / name) for name in ("metrics.jsonl", "summary.json")]
    return "-".join(str(file.stat().st_size if file.is_file() else 0) for file in sizes)


class ReportServer(ThreadingHTTPServer):
    """Serves the page that `make(stamp)` gives, kept until the stamp of `run_dir` changes.

    Raises UserError when the port is taken. `port` 0 takes a free one; `url` says which.
    """

    daemon_threads = True

    def __init__(self, run_dir: Path, make: Callable[[str], bytes], port: int = 0) -> None:
        self.run_dir, self._make = run_dir, make
        self._lock, self._made = threading.Lock(), ("", b"")
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(
                f"port {port} cannot be had ({reason}); give another --port, or 0 for any free one"
            ) from error

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"

    def page(self) -> bytes:
        """The page of the run as it is now. Many at once wait for the one that is made."""
        with self._lock:
            now = stamp(self.run_dir)
            if self._made[0] != now:
                self._made = now, self._make(now)
            return self._made[1]


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        try:
            if path == "/stamp":
                self._answer(200, "text/plain", stamp(self.server.run_dir).encode())
            elif path == "/":
                self._answer(200, "text/html; charset=utf-8", self.server.page())
            else:
                self._answer(404, "text/plain", b"there is / and /stamp")
        except UserError as error:  # the run's folder was taken away, say
            self._answer(503, "text/plain; charset=utf-8", str(error).encode())

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line every three seconds says nothing."""
