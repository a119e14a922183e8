"""Counts and times of the service for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The metrics of one service; two services in one process do not share them."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "treeformer_requests", "Requests answered.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "treeformer_request_seconds",
            "From the first byte of a request to the end of its response.",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.batches = Histogram(
            "treeformer_batch_inputs", "Inputs in a batch.", buckets=_SIZES, registry=registry
        )
        self.ended = Counter(
            "treeformer_processes_ended", "Model processes that ended unexpectedly.", registry=registry
        )
        self.waiting = Gauge("treeformer_requests_waiting", "Requests in progress.", registry=registry)
        self.connections = Gauge("treeformer_connections", "Open connections.", registry=registry)
        self.ended_connections = Counter(
            "treeformer_connections_ended",
            "Connections that the service ended because of their client.",
            ["reason"],
            registry=registry,
        )

    def record_response(self, path: str, status: int, seconds: float) -> None:
        """Count one response."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
