"""Redaction: the guard, its layers around model calls, and that of replies outside of the loop."""
