"""Error of a server whose settings cannot work."""


class ServerUnusable(Exception):
    """The settings of a server cannot work, whatever the server does; it stays within this package."""
