"""What PromptToolBridge is made of: the dialect and its scanner."""
