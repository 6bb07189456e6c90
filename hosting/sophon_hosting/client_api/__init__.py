"""What Socket.IO and HTTP clients share: authentication, authorised operations, serialisation, error payloads."""
