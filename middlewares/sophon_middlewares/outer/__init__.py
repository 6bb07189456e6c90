"""The outer zone: middlewares that run once per turn."""
