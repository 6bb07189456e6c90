"""OpenAI-compatible API in front of the chain; disabled unless `Hub.OpenAiApi` is set."""
