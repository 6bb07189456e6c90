"""Queue of tasks: statistics, dead letters, undelivered messages to chats."""
