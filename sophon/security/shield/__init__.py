"""Rules of Shield: the tiers that judge an action, as pure functions; the guard of that name applies them."""
