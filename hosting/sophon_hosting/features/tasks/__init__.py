"""Tasks: messages that were sent, their answers, events and feedback."""
