"""Trace: what a turn did, step by step, for later questions."""
