"""The commands of `sophon`, one module per command."""
