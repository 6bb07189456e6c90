"""The API tokens: who may use the host by which token, for what and until when; contract, in-memory and SQL store."""
