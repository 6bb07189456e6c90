"""How the command line reaches a running host, and what it does without one."""
