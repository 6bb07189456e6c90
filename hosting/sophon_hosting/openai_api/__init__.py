"""The chain behind the interface that OpenAI's clients speak; off unless `Hub.OpenAiApi` is set."""
