"""Telegram Bot API client: transport, request bodies, errors, file uploads and downloads."""
