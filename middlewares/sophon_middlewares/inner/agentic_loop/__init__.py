"""AgenticLoop and its parts: the loop detector with its counts and texts, and which calls of a round may run."""
