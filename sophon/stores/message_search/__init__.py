"""Full-text search in the messages of people and agent: contract, shared rules, in-memory and SQL store."""
