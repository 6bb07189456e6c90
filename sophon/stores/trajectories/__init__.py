"""Trajectories of finished turns and what people said about their answers; contract, in-memory and SQL store."""
