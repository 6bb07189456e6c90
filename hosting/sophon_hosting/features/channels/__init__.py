"""Channels of a host: their health, their settings and pairing."""
