"""Providers of models: health, keys, models."""
