"""Documents in a request to a model: PDFs for models that read them, and the line that stands for one elsewhere.

Messages are not stored with documents: `sophon.turn.attached_files` makes them from attachments for each request.
Sources: Claude docs, PDF support; OpenAI docs, File inputs.
"""

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its file in base64, its media type, name and size in bytes; `tokens` is about what it counts."""

    data: str
    media_type: str
    name: str
    size: int
    tokens: int = 0

    @property
    def address(self) -> str:
        """The document as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.data}"


def describe_document(document: Document) -> str:
    """Return the line that stands for a document that the model cannot read; it holds no part of the file."""
    return describe_unread_file(document.name, document.media_type, document.size, "it is not shown to this model")


def describe_unread_file(name: str, media_type: str, size: int, reason: str) -> str:
    """Return the line that names a file which a model does not get."""
    return f"[File: {name}, {media_type}, {size:,} bytes; {reason}]"
