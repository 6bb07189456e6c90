"""One line of text from a string that somebody else chose: a name, a title, an error of a platform."""

MAX_LENGTH = 200
"""In characters; a longer text is cut."""


def to_single_line(text: str, limit: int = MAX_LENGTH) -> str:
    """Return the text without line breaks, control characters and invisible signs, at most `limit` characters. Pure.

    Each run of them, and of white space, becomes one space: a name can neither begin a line of its own nor reorder the
    text around it.
    """
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:limit].rstrip()
