"""Runs: life cycle of an accepted message until its single outcome."""
