"""The hub: people chat, watch and decide over Socket.IO."""
