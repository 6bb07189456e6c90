"""Text length in UTF-16 code units."""


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units, in which Telegram counts; never fewer than the characters."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
