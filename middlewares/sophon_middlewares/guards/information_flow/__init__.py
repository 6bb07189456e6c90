"""InformationFlow: the guard, and what the store knows of the data that a session has read."""
