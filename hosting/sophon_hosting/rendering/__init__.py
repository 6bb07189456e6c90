"""Values as text, for commands, channels and the HTTP API."""
