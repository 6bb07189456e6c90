"""Errors of channels."""

from sophon.errors import SophonError


class ChannelError(SophonError):
    """A channel cannot run or cannot do what was requested; the message states the cause and the remedy."""

    code = "channel"


class PreviewInDoubt(ChannelError):
    """Nobody knows whether a new message, the preview of a reply, was shown: the request got no definite answer."""
