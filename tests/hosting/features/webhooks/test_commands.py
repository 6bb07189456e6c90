"""`sophon webhooks` needs a running host, and says so."""

from collections.abc import Callable
from typing import Any


def test_without_a_running_host_the_commands_say_what_they_need(sophon: Callable[..., Any]) -> None:
    for words in (["list"], ["test", "monitor"]):
        failed = sophon("webhooks", *words)
        assert failed.code != 0
        assert "running host" in failed.err
