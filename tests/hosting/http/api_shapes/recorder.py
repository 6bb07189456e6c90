"""Recorder of HTTP responses and Socket.IO acknowledgements as shapes, one for each named call."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from aiohttp import web

from tests.hosting.http.api_shapes.shapes import find_differences, shape_of

RECORDING = Path(__file__).with_name("recorded.json")

MAX_LINE_CHARACTERS = 120

RECORDED_HEADERS = ("cache-control", "content-disposition", "etag", "retry-after", "www-authenticate")
"""Headers whose presence is part of a recorded response."""


class Recorder:
    """Recorder of calls. `rows` are the shapes by name of the call: `METHOD /path/{of}/route (what is special)`."""

    def __init__(self, routes: web.UrlDispatcher) -> None:
        self._routes = routes
        self.rows: dict[str, Any] = {}
        self.answers: list[tuple[str, str, Any]] = []
        """What succeeded with a JSON object: name of the call, route or event, and the object."""

    def add_response(self, response: httpx.Response, note: str = "") -> None:
        """Record a response under its route."""
        route = self._find_route(response.request.method, response.request.url.raw_path.decode().partition("?")[0])
        row = {
            "status": response.status_code,
            "type": response.headers.get("content-type", ""),
            "headers": [each for each in RECORDED_HEADERS if each in response.headers],
            "body": _body_shape(response),
        }
        self._add(route, note, row)
        if (
            response.is_success
            and row["type"].startswith("application/json")
            and route.partition(" ")[2][:5] == "/api/"
        ):
            self.answers.append((f"{route} ({note})", route, response.json()))

    def add_acknowledgement(self, event: str, answer: Mapping[str, Any], note: str = "") -> None:
        """Record what a client event was acknowledged with."""
        self._add(
            f"event {event}", note, {"status": "ok" if answer["ok"] else "refused", "body": shape_of(dict(answer))}
        )
        if answer["ok"]:
            self.answers.append((f"event {event} ({note})", f"event {event}", answer))

    def add_pushed_events(self, heard: Mapping[str, list[object]]) -> None:
        """Record the events that a client was sent, by name."""
        for name, payloads in heard.items():
            self._add(f"pushed {name}", "", {"status": "ok", "body": shape_of(*payloads)})

    def _add(self, name: str, note: str, row: object) -> None:
        name = f"{name} ({note})" if note else name
        assert name not in self.rows, f"{name}: recorded twice; give one of the calls another note"
        self.rows[name] = row

    def _find_route(self, method: str, path: str) -> str:
        found = [each for each in self._routes.resources() if method in {route.method for route in each}]
        # aiohttp tries the fixed paths first.
        for resource in sorted(found, key=lambda each: not isinstance(each, web.PlainResource)):
            if _matches(resource, path):
                return f"{method} {resource.canonical}"
        return f"{method} {path}"


def find_problems(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    """Return a line for each call that is missing or new, and for each key that changed in one."""
    return [
        f"{name} :: {line}"
        for name in sorted({*expected, *actual})
        for line in find_differences(expected.get(name), actual.get(name))
    ]


def list_successes(rows: Mapping[str, Any]) -> set[str]:
    """Return the routes and events that succeeded once: `METHOD /path/{of}/route` and `event NAME`."""
    return {
        name.partition(" (")[0] for name, row in rows.items() if row["status"] == "ok" or str(row["status"]) < "400"
    }


def read_recording() -> dict[str, Any]:
    """Return the recorded shapes by name of the call."""
    found: dict[str, Any] = json.loads(RECORDING.read_text(encoding="utf-8"))
    return found


def write_recording(rows: Mapping[str, Any]) -> None:
    """Replace the recording."""
    RECORDING.write_text(format_json(dict(rows)) + "\n", encoding="utf-8")


def format_json(value: Any, indent: str = "") -> str:
    """Return JSON in which what fits into a line stands in one."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(indent) + len(line) <= MAX_LINE_CHARACTERS or not isinstance(value, dict | list):
        return line
    deeper = f"{indent} "
    if isinstance(value, list):
        return "[" + ", ".join(format_json(each, indent) for each in value) + "]"
    members = [f"{json.dumps(key)}: {format_json(each, deeper)}" for key, each in sorted(value.items())]
    return "{\n" + ",\n".join(f"{deeper}{each}" for each in members) + f"\n{indent}}}"


def _matches(resource: web.AbstractResource, path: str) -> bool:
    info = resource.get_info()
    pattern = info.get("pattern")
    return info.get("path") == path if pattern is None else pattern.fullmatch(path) is not None


def _body_shape(response: httpx.Response) -> Any:
    kind = response.headers.get("content-type", "").partition(";")[0]
    if not response.content:
        return None
    if kind == "application/json":
        return shape_of(response.json())
    if kind == "application/x-ndjson":
        return shape_of([json.loads(line) for line in response.text.splitlines()])
    if kind == "text/event-stream":
        lines = [each.removeprefix("data: ") for each in response.text.splitlines() if each.startswith("data: ")]
        return shape_of([each if each == "[DONE]" else json.loads(each) for each in lines])
    return "bytes"
