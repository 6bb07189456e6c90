"""Messaging channels: the channel contract, and its implementations for Telegram and WhatsApp."""
