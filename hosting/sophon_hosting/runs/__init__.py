"""Runs: from the message that is accepted to its one outcome."""
