"""Results that several features share."""

from typing import Final

from sophon._python.lazy_typed_dict import TypedDict
from sophon_hosting.json_text import Item, take_items


class Done(TypedDict):
    """Nothing beside the success."""


MAX_LIST_ITEMS: Final = 1000
"""Maximum number of items in an acknowledgement."""

MAX_LIST_BYTES: Final = 900_000
"""Maximum JSON size of the items of a list, so that its acknowledgement fits a frame of 1 MB. HTTP returns them all."""


def take_listed(items: list[Item], count: int) -> tuple[list[Item], bool]:
    """Return the items that fit into an acknowledgement, and whether these are all of the `count` that there are."""
    shown = take_items(items, MAX_LIST_BYTES)
    return shown, len(shown) >= count
