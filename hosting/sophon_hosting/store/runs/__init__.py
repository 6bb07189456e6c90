"""Runs: accepted messages, their status, checkpoint and outcome; contract, transitions, in-memory and SQL store."""
