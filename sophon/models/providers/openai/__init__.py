"""Adapter for OpenAI's chat completions API and servers compatible with it."""
