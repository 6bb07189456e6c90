"""Channels: a platform's updates in, messages and buttons out."""
