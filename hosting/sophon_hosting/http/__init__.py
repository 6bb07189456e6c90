"""HTTP server of a host: JSON API, health checks, metrics, and the web page."""
