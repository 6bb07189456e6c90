"""AgenticLoop and its parts: the loop detector with its rules, and the judgement of a round before its calls run."""
