"""Telegram channel over the Bot API; aiogram provides the methods and the connections."""
