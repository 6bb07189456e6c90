"""Traces of turns: what a turn did, in which order, how long it took and what it cost."""
