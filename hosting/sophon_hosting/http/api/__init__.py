"""Handlers of the JSON API under `/api/`."""
