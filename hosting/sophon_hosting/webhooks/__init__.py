"""Webhooks: signed requests that become messages, and events that are posted to URLs."""
