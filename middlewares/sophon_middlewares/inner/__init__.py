"""The inner zone: middlewares that run again for every round of tool calls."""
