"""Channels: a platform's updates in, messages and buttons out. The platforms come with later versions."""
