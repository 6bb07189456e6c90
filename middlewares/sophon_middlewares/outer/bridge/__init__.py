"""Parts of PromptToolBridge: rendering tools and history as text, and scanning replies for tool calls."""
