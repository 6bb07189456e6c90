"""The routing strategies, one module each."""
