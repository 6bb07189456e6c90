"""What a host does after an answer, when nobody waits: it remembers, and gives the session a title."""
