"""Renderers of a turn: terminal and JSON Lines, and the formatting of events as text."""
