"""Options of a turn that its sender chooses, checked before the message is accepted."""

from collections.abc import Mapping, Sequence
from typing import cast

from sophon.errors import InputError
from sophon.settings import Settings

PLANNING_MODES = ("Auto", "LlmDecides", "Always", "Never")
"""Those of the setting Planning.Mode, in its spelling."""


def parse_planning_mode(text: str | None) -> str | None:
    """Return a planning mode in the spelling of the settings, given any case. Raises InputError."""
    if text is None:
        return None
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        raise InputError(f"planning is {text!r}; choose from {', '.join(PLANNING_MODES)}")
    for mode in PLANNING_MODES:
        if mode.lower() == text.lower():
            return mode
    raise InputError(f"{text!r} is not a planning mode; choose from {', '.join(PLANNING_MODES)}")


def check_turn_arguments(
    text: object,
    images: Sequence[object],
    attachments: Sequence[object],
    flags: Mapping[str, object],
    **names: object,
) -> None:
    """Check a message, flags, and names (ids, a model) that may be None. Raises InputError."""
    if not isinstance(text, str):
        raise InputError(f"the message is {text!r:.60}; it must be a text")
    if not text.strip() and not images and not attachments:
        raise InputError("the message is empty: write something")
    if images:
        check_image_count(images)
    if attachments:
        _check_attachments(attachments)
    for name, value in flags.items():
        if isinstance(value, str):  # "no" would count as yes
            raise InputError(f"{name} is {value!r:.60}; write True or False")
    for name, value in names.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name} is {value!r:.60}; it must be a text")


def check_image_count(images: Sequence[object]) -> None:
    """Check kind and number of the images of a message. Raises InputError."""
    from sophon.images import MAX_IMAGES, Image  # lazy: few messages have images

    if not isinstance(images, list | tuple) or not all(isinstance(each, Image) for each in images):
        raise InputError(f"images is {images!r:.60}; write images=[sophon.images.image_from_bytes(content)]")
    if len(images) > MAX_IMAGES:
        raise InputError(f"the message has {len(images)} images; at most {MAX_IMAGES} are allowed")


def _check_attachments(attachments: Sequence[object]) -> None:
    """Check the kind of the attachments of a message. Raises InputError."""
    from sophon.attachments import Attachment  # lazy, as above

    if not isinstance(attachments, list | tuple) or not all(isinstance(each, Attachment) for each in attachments):
        raise InputError(f"attachments is {attachments!r:.60}; write a list of sophon.attachments.Attachment")


MAX_TEMPERATURE = 2.0
"""The highest temperature that any of the providers takes."""


def check_temperature(wanted: object) -> float | None:
    """Return the temperature of a turn's replies. Raises InputError if it is no number from 0 to MAX_TEMPERATURE."""
    if wanted is None:
        return None
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 <= wanted <= MAX_TEMPERATURE:
        raise InputError(f"temperature is {wanted!r}; it must be a number from 0 to {MAX_TEMPERATURE:g}")
    return float(wanted)


MAX_TAGS = 16
MAX_TAG_CHARACTERS = 64


def check_tags(wanted: object) -> list[str]:
    """Return the tags of a message, each once. Raises InputError if they are no list of short texts."""
    if wanted is None:
        return []
    found = cast(Sequence[object], wanted) if isinstance(wanted, list | tuple) else ()
    tags = list(dict.fromkeys([each for each in found if isinstance(each, str)]))
    if not isinstance(wanted, list | tuple) or not all(isinstance(each, str) for each in found):
        raise InputError(f"tags is {wanted!r:.60}; it must be a list of texts")
    if len(tags) > MAX_TAGS or not all(0 < len(tag) <= MAX_TAG_CHARACTERS for tag in tags):
        raise InputError(f"a message has at most {MAX_TAGS} tags, each of 1 to {MAX_TAG_CHARACTERS} characters")
    return tags


def check_metadata(metadata: Mapping[str, object] | None) -> tuple[float | None, list[str]]:
    """Return temperature and tags of a message's metadata. Raises InputError for anything else in it."""
    for name in metadata or ():
        if name not in ("temperature", "tags"):
            raise InputError(f"metadata.{name}: not known; metadata may have `temperature` and `tags`")
    return (
        (None, [])
        if metadata is None
        else (check_temperature(metadata.get("temperature")), check_tags(metadata.get("tags")))
    )


def check_max_iterations(wanted: object, settings: Settings) -> int | None:
    """Return a turn's ceiling of rounds. Raises InputError if it is no whole number from 1 to the hard limit."""
    if wanted is None:
        return None
    most = settings.agent_execution.max_tool_iterations_hard_limit
    if type(wanted) is not int or not 1 <= wanted <= most:
        raise InputError(
            f"max_iterations is {wanted!r}; it must be a whole number from 1 to {most} "
            f"(AgentExecution.MaxToolIterationsHardLimit)"
        )
    return wanted
