"""Observability of a host: metrics, logging, log redaction and trace context."""
