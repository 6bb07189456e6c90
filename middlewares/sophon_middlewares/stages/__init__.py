"""Middlewares of the published chains and of direct calls: what the twelve do not have."""
