"""Client side of the Model Context Protocol: parts that need the extra `mcp` import it in `bounded_stdio` only."""
