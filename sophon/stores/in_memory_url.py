"""URL of a store in memory, in a module of its own: the factory must not load SQLAlchemy, nor `sql` the factory."""

MEMORY_SCHEME = "memory://"
