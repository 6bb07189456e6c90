"""Webhooks: incoming and outgoing."""
