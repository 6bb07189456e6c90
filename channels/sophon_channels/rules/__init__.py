"""What every channel does in the same way: who may write, what counts in groups, commands, pairing codes."""
