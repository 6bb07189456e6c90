"""Adapter for Ollama's native chat API."""
