"""Images of a message in a request: whether the model sees them, and the text that stands for them if not."""

from sophon.images import Image, describe_image
from sophon.messages import Message
from sophon.models.capabilities import has_capability
from sophon.models.model import ModelInfo

VISION = "vision"
"""Capability of a model that sees images."""


def sees_images(model: ModelInfo) -> bool:
    """Return whether images are sent to a model; the others read `describe_image` in their place."""
    return has_capability(model, VISION)


def text_with_descriptions(message: Message, images: tuple[Image, ...] | None = None) -> str:
    """Return the text of a message with a line for each of its images, or of those that are not sent to the model."""
    missing = message.images if images is None else images
    return "\n".join([*([message.content] if message.content else []), *map(describe_image, missing)])
