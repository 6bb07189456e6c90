"""What goes wrong with a channel."""

from sophon.errors import SophonError


class ChannelError(SophonError):
    """A channel cannot run or cannot do what it was asked; the message says why and what to do."""

    code = "channel"
