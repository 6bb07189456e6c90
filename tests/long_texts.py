"""Texts of any size."""

MEGABYTE = 1_000_000


def text_of(size: int) -> str:
    """A text of that many bytes, in which no two lines are equal."""
    line = "line {:012d}: what a model writes when it is asked for very much of it, 80 bytes\n"
    return "".join(line.format(number) for number in range(size // 80 + 1))[:size]
