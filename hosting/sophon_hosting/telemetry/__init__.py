"""OpenTelemetry: traces of turns as spans and metrics, sent to a collector. Imported only if an endpoint is set."""
