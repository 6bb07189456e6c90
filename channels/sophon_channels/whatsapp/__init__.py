"""WhatsApp channel over Meta's Cloud API."""
