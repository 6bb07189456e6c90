"""SessionEvents, and the start of a turn: its context, as a host and a chain build it."""
