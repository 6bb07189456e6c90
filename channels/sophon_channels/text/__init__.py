"""Text for people: how long it is, where it may be cut, how it is split."""
