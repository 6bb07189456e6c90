"""A collector on loopback: takes OTLP over HTTP, decodes the protobuf, and keeps what it got."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What arrived: spans, metrics, and the headers of the requests. `status` is what is answered."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.status = 200
        self.url = ""
        self.arrived = threading.Event()

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.headers.append(headers)
        if path == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            for each in request.resource_spans:
                self.resources.append(values(each.resource.attributes))
                self.spans += [span for scope in each.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            found = ExportMetricsServiceRequest.FromString(body)
            self.metrics += [
                metric for each in found.resource_metrics for scope in each.scope_metrics for metric in scope.metrics
            ]
        self.arrived.set()

    def find(self, name: str) -> Any:
        """Return the one span whose name begins so."""
        (found,) = [each for each in self.spans if each.name.startswith(name)]
        return found


def values(attributes: Any) -> dict[str, Any]:
    """Return attributes as plain values."""
    found: dict[str, Any] = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = (
            [getattr(one, one.WhichOneof("value")) for one in value.values] if kind == "array_value" else value
        )
    return found


@contextmanager
def serve() -> Iterator[Collector]:
    """Run a collector until the end of the block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            if collector.status == 200:
                collector.take(self.path, dict(self.headers.items()), body)
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
