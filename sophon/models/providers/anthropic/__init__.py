"""Adapter for Anthropic's Messages API."""
