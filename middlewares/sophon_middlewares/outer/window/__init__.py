"""What ContextWindow is made of: counting, cutting, summarising."""
