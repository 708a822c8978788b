"""A STUB of the hub: it takes what huggingface_hub sends on a push, keeps the commit, and stores nothing.

Not the hub: it checks no token, and of a card's front matter only that it is YAML with a library and tags.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import yaml
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

COMMIT = "c" * 40


@dataclass
class StubHub:
    """`created`: bodies of repos/create; `files` of the last commit: text, or {"size": bytes} of weights."""

    server: HTTPServer
    created: list[dict[str, Any]] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    files: dict[str, Any] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.server.expect_request("/api/repos/create").respond_with_handler(self._create)
        self.server.expect_request("/api/validate-yaml").respond_with_handler(self._card)
        self.server.expect_request("/api/models/me/tiny/preupload/main").respond_with_handler(self._preupload)
        self.server.expect_request("/me/tiny.git/info/lfs/objects/batch").respond_with_handler(self._batch)
        self.server.expect_request("/api/models/me/tiny/commit/main").respond_with_handler(self._commit)
        self.server.expect_request("/api/models/me/tiny/revision/main").respond_with_json(
            {"id": "me/tiny", "sha": COMMIT, "siblings": []}
        )

    @property
    def url(self) -> str:
        return self.server.url_for("").rstrip("/")

    def _create(self, request: Request) -> Response:
        self.tokens.add(request.headers.get("authorization", ""))
        self.created.append(request.get_json())
        return _json({"url": f"{self.url}/me/tiny", "name": "me/tiny", "id": "1"})

    def _card(self, request: Request) -> Response:
        text = request.get_json()["content"]
        self.cards.append(text)
        front = yaml.safe_load(text.split("---\n")[1])
        good = {"library_name", "tags"} <= set(front)
        return _json({"errors": [] if good else [{"message": "no library"}], "warnings": []}, 200 if good else 400)

    def _preupload(self, request: Request) -> Response:
        modes = [
            {"path": f["path"], "uploadMode": _mode(f["path"]), "shouldIgnore": False}
            for f in request.get_json()["files"]
        ]
        return _json({"files": modes})

    def _batch(self, request: Request) -> Response:
        """As where the hub has all of these objects already: there is nothing to upload."""
        return _json({"transfer": "basic", "objects": request.get_json()["objects"]})

    def _commit(self, request: Request) -> Response:
        self.tokens.add(request.headers.get("authorization", ""))
        for line in map(json.loads, request.get_data().splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"]).decode()
            elif line["key"] == "lfsFile":
                self.files[value["path"]] = {"size": value["size"]}
        return _json({"success": True, "commitOid": COMMIT, "commitUrl": f"{self.url}/me/tiny/commit/{COMMIT}"})


def _mode(path: str) -> str:
    return "lfs" if path.endswith(".safetensors") else "regular"


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status=status, content_type="application/json")
