"""Parts of ContextWindow: the call layer, compaction, truncation, and token counts."""
