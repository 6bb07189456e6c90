"""Guards: middlewares around the tool call that block it, or ask a person, by the rules of `sophon.security`."""
