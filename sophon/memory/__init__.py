"""Long-term memory: word search over its entries."""
