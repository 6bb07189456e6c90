"""Images and documents of a message in a request: which of them the model takes, and the text in place of others."""

from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.documents import Document, describe_document
from sophon.images import Image, describe_image
from sophon.messages import Message
from sophon.models.capabilities import has_capability
from sophon.models.model import ModelInfo

VISION = "vision"
"""Capability of a model that sees images."""

PDF_INPUT = "pdf_input"
"""Capability of a model that reads PDFs."""


@dataclass(frozen=True, slots=True)
class MediaContent:
    """What a model gets of a message: its text with a line for everything that it cannot take, and what it can."""

    text: str
    images: Sequence[Image] = ()
    documents: Sequence[Document] = ()


def sees_images(model: ModelInfo) -> bool:
    """Return whether images are sent to a model; the others read `describe_image` in their place."""
    return has_capability(model, VISION)


def reads_documents(model: ModelInfo) -> bool:
    """Return whether PDFs are sent to a model; the others read `describe_document` in their place."""
    return has_capability(model, PDF_INPUT)


def select_media(
    message: Message, model: ModelInfo | None, *, takes_addresses: bool = True, takes_documents: bool = True
) -> MediaContent:
    """Return what a model gets of a message; without a model everything is named.

    `takes_addresses`: the API takes images by their address; `takes_documents`: it takes documents.
    """
    images = message.images if model is not None and sees_images(model) else ()
    documents = message.documents if model is not None and takes_documents and reads_documents(model) else ()
    if not takes_addresses:
        images = tuple(image for image in images if image.data)
    lines = [message.content] if message.content else []
    lines += [describe_image(image) for image in message.images if image not in images]
    lines += [describe_document(document) for document in message.documents if document not in documents]
    return MediaContent("\n".join(lines), images, documents)
