"""A server that keeps comments as GitHub and GitLab do, as far as comment.py asks: lists in pages, POST, PATCH and PUT."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

GITHUB, GITLAB = "/repos/team/vms/issues/7/comments", "/projects/3/merge_requests/7/notes"
ONE = {GITHUB: "/repos/team/vms/issues/comments/", GITLAB: f"{GITLAB}/"}
UPDATES = {GITHUB: "PATCH", GITLAB: "PUT"}
TOKEN = "token-of-the-test"
BOT = "github-actions[bot]"


class Comments(ThreadingHTTPServer):
    """Comments by their number. `status` answers every request if it is set; `requests` are those that changed something."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.kept: dict[int, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.status = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, body: str, login: str = BOT, number: int = 1) -> int:
        """A comment of an account; its number."""
        made = max(self.kept, default=0) + 1
        self.kept[made] = {"id": made, "body": body, "user": {"login": login}, "author": {"id": number}}
        return made

    @property
    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.kept.values()]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Comments

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/user":
            self._answer(200, {"id": 1})
        elif path in (GITHUB, GITLAB):
            size, page = int(query["per_page"][0]), int(query["page"][0])
            assert size <= 100  # of more, both servers give 100
            self._answer(200, list(self.server.kept.values())[size * (page - 1) : size * page])
        else:
            self._answer(404, {})

    def do_POST(self) -> None:
        if self.path not in (GITHUB, GITLAB):
            self._answer(404, {})
            return
        made = self.server.add(self._body())
        self._answer(201, self.server.kept[made])

    def do_PATCH(self) -> None:
        self._update(GITHUB)

    def do_PUT(self) -> None:
        self._update(GITLAB)

    def _update(self, listed: str) -> None:
        if not self.path.startswith(ONE[listed]):
            self._answer(404, {})
            return
        comment = self.server.kept[int(self.path.removeprefix(ONE[listed]))]
        comment["body"] = self._body()
        self._answer(200, comment)

    def _body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def _answer(self, status: int, value: object) -> None:
        token = self.headers.get("PRIVATE-TOKEN") or self.headers.get("Authorization", "").removeprefix("Bearer ")
        status = self.server.status or (status if token == TOKEN else 401)
        if self.command != "GET":
            self.server.requests.append(f"{self.command} {self.path}")
        data = json.dumps(value).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.server.address}/elsewhere")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextlib.contextmanager
def running() -> Iterator[Comments]:
    """The server, as long as it is used."""
    with Comments() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
