"""Long-term memory: finding an entry again by the words in it."""
