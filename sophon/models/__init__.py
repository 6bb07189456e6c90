"""Models: the gateway, and what stands behind it."""
