"""Files that people attach to messages: contract, in-memory and SQL store."""
