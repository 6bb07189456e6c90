"""Files that a platform holds: by content and name, for a time, and a bounded number."""

from datetime import timedelta
from io import BytesIO

from sophon.testing import VirtualClock
from sophon_channels.sent_files import MAX_FILES, SentFiles, build_file_key


def test_a_key_is_of_content_name_and_type() -> None:
    keys = {build_file_key(BytesIO(content), name, kind) for content in (b"a", b"b") for name in "xy" for kind in "pq"}
    assert len(keys) == 8
    stream = BytesIO(b"a")
    assert build_file_key(stream, "x") == build_file_key(stream, "x")


async def test_an_id_is_forgotten_when_its_time_is_over() -> None:
    clock = VirtualClock(auto=False)
    files = SentFiles(clock, timedelta(seconds=10))
    files.record("a", "1")
    files.record("b", "2")
    assert files.find("a") == "1"
    files.forget("b")
    assert files.find("b") is None
    await clock.advance(10)
    assert files.find("a") is None


def test_the_file_that_was_used_longest_ago_goes_first() -> None:
    files = SentFiles(VirtualClock(auto=False), timedelta(days=1))
    files.record("first", "1")
    files.record("second", "2")
    assert files.find("first") == "1"
    for number in range(MAX_FILES - 1):
        files.record(str(number), "x")
    assert (files.find("first"), files.find("second")) == ("1", None)
