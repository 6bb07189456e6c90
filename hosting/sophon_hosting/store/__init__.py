"""Store of a host: the store of its chain, and what only a host stores."""
