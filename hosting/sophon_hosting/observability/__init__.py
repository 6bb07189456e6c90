"""Metrics, logging, log redaction and trace context of a host."""
