"""Results that several features share."""

from sophon._python.lazy_typed_dict import TypedDict


class Done(TypedDict):
    """Nothing beside the success."""
