"""Task queue between accepting a message and the worker: one contract and one module per technology."""
