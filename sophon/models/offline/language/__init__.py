"""English text rules of the offline model: clauses, sentences, summaries."""
