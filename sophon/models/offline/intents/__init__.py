"""Intents of the offline model: one file per kind of request, in the order of registry.py."""
