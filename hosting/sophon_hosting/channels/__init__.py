"""Channels in a host: inbound messages become runs; replies, approval prompts and previews go back to the chats."""
