"""Labels of the information flow, of sessions, files and memory entries; contract, in-memory and SQL store."""
