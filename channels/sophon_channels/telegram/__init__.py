"""Telegram: the Bot API, with aiogram for its methods and its connections."""
