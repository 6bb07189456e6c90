"""The HTTP side of a host: the API, health, metrics and the page."""
