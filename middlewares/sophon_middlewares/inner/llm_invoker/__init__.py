"""LlmInvoker and its parts: the reply of a turn, its reasoning, and what is done about an empty one."""
