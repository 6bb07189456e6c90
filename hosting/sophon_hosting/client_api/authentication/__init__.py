"""Authentication of clients: tokens, JWTs, and the throttle of failed log-ins."""
