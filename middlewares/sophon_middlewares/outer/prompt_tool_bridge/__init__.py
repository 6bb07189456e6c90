"""PromptToolBridge and its parts: rendering tools and history as text, and scanning replies for tool calls."""
