"""Search in stored messages: queries, their hits, and the snippets of these."""
