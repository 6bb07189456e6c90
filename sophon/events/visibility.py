"""Visibility of an event's fields: which hold content of a conversation, and who may read that.

A field holds content unless its type says otherwise: numbers, booleans, null, usage and closed sets of words hold none,
and neither does a text that is declared `Plain`. So a field that is added later is hidden until somebody declares it.
A nested object whose keys differ is declared by its `TypedDict`: `Annotated[Mapping[str, Any], ErrorDetail]`.
"""

from enum import Enum
from typing import Annotated, TypeAlias


class Visibility(Enum):
    """Who may read the value of a field."""

    PLAIN = "plain"
    """Everybody who may see the event: an id, a name, a state, a time; nothing that a person or a model wrote."""
    TEXT = "text"
    """A text of a person or of the agent: whoever owns the session reads it, without secrets."""
    STREAMED = "streamed"
    """A piece of such a text, in which a secret may be cut in two."""
    OWNED = "owned"
    """Whoever owns the session, as it is."""
    CONTENT = "content"
    """Readers with the permission FullHistory: arguments, results, reasoning."""


Plain: TypeAlias = Annotated[str, Visibility.PLAIN]
"""A text that holds no content."""
Text: TypeAlias = Annotated[str, Visibility.TEXT]
"""A text of the conversation."""
