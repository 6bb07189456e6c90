"""Sections of the system prompt: their order and the call layer that adds one."""
