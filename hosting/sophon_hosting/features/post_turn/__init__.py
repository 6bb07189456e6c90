"""Jobs after a turn: titles, extraction of memories, summaries, evaluation."""
