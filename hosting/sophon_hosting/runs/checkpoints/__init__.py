"""Checkpoints: the state of an unfinished turn, as it is written to the store and read again."""
