"""How long a text is, as platforms count."""


def utf16_units(text: str) -> int:
    """UTF-16 code units: what Telegram counts entities in, and never fewer than there are characters."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
