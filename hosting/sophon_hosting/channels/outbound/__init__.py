"""Outbound side of the channels: outbox entries and worker, replies, typing and preview, `chat.send_file`."""
