"""Planner of goals: a model call that makes the graph of steps, and how its answer is read."""
