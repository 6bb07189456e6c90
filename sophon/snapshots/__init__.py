"""Snapshots of files before a tool call writes them: what is copied, where the copies are, and how they come back."""
