"""Inbound side of the channels: messages, commands, media groups, attachments, button presses."""
