"""Goals: plans that the host works on in steps."""
