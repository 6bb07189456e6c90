"""Shield: the guard, the judgement of a call in tiers, and the evaluation by a model."""
