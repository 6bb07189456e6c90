import logging

from sophon._python.rate_limited_log import RateLimitedLog
from sophon.testing import VirtualClock


async def test_one_line_per_kind_and_minute_and_the_next_counts_the_rest(caplog) -> None:
    clock = VirtualClock()
    log = RateLimitedLog(logging.getLogger("sophon"), clock.monotonic)
    for number in range(1000):
        log.warning("flood", "refused %d", number)
        log.warning("other", "something else")
    await clock.sleep(60)
    log.warning("flood", "refused %d", 1000)
    assert [record.message for record in caplog.records] == [
        "refused 0",
        "something else",
        "refused 1000 (999 more since the last such line)",
    ]
