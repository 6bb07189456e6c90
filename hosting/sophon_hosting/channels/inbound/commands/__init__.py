"""Commands that people write in a chat (`/status`): requests, execution, overrides, conversations off the record."""
