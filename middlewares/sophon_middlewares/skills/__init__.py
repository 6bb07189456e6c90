"""Skills and custom tools: instructions and programs that users and operators add."""
