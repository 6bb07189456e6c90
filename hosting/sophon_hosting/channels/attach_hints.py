"""Hints to the other processes of a group to start a channel at once: the one that leads it may be another."""

from collections.abc import Callable

from sophon_hosting.fanout.contract import HostFanout, HostMessage, Wake

PREFIX = "attach:"


class AttachHints:
    """Sends and receives the names of channels that an operator attaches; `attach` is called with those of others.

    A hint that is lost costs nothing but time: a detached channel is tried again anyway.
    """

    def __init__(self, fanout: HostFanout, attach: Callable[[str], object]) -> None:
        self._fanout, self._attach = fanout, attach

    def start(self) -> None:
        """Receive hints."""
        self._fanout.subscribe(self._receive)

    def stop(self) -> None:
        """Receive no more."""
        self._fanout.unsubscribe(self._receive)

    def send(self, channel_name: str) -> None:
        """Tell the other processes, if there are any."""
        self._fanout.publish(Wake(PREFIX + channel_name))

    def _receive(self, message: HostMessage) -> None:
        if isinstance(message, Wake) and message.what.startswith(PREFIX):
            self._attach(message.what.removeprefix(PREFIX))
