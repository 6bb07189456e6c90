"""ToolFilter, and the mark of a turn without any tool."""
