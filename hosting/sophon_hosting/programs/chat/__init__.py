"""The terminal chat: local and remote turns, input loops, approval prompts, slash commands, signals."""
