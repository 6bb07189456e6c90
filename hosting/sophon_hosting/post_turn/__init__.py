"""Post-turn jobs: memory extraction and title generation after an answer."""
