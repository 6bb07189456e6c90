"""Programs that the host runs for a tool: a shell command with the host's rights, or a program in a sandbox."""
