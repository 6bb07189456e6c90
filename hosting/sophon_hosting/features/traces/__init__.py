"""Traces of turns, and their replays."""
