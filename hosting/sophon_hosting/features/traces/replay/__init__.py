"""Replay of a finished turn: the same message to another model or chain, without tools and without any other effect."""
