"""ContextWindow and its parts: the call layer, compaction, truncation, and token counts."""
