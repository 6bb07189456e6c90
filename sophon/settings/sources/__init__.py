"""Sources of settings (JSON files, environment, command line) and their merging into one mapping."""
