"""Moving averages of routing: cost, latency and quality of models; contract, in-memory and SQL store."""
