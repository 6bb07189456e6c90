"""Tools, custom tools and skills that a user's turns can use."""
