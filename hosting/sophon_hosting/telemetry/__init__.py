"""OpenTelemetry: traces of turns as spans and metrics, sent to a collector, or as JSON of OTLP.

The exporter needs an optional package, and is imported only if an endpoint is set.
"""
