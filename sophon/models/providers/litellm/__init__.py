"""Adapter for every provider that the litellm library supports."""
