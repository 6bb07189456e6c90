"""Text rendering shared by the command line and the HTTP API."""
