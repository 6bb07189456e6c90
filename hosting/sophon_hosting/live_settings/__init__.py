"""Settings that an operator changes while the host runs."""
