"""Vectors: embeddings with the data that belongs to them; contract, in-memory and SQL store."""
