"""WhatsApp Cloud API client: requests, errors, file uploads and downloads."""
