"""Operations of a host: what a client may ask, declared once, with its permission, its request and its result."""
