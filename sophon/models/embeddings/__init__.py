"""Embedders: adapters to embedding models, over HTTP, litellm and sentence-transformers."""
