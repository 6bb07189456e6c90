"""TCP connections of the HTTP server: caps, deadlines, and what happens when they are reached."""
