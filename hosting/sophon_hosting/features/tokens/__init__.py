"""Users of the host and their API tokens."""
