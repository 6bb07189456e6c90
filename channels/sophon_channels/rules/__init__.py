"""Rules that all channels share: access policy, chat commands, callback data, short codes."""
