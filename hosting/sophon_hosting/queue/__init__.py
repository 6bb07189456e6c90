"""The queue between whoever accepts a message and the worker that runs it: one contract, a file per technology."""
