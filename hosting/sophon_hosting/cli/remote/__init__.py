"""Clients of a running host (HTTP, Socket.IO), and access to its store when no host runs."""
