"""Sending events to one client: encoding, queue, and bounded send buffer."""
