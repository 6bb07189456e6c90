"""A small, seeded part of tests/soak/test_sender_kills.py."""

from pathlib import Path

from tests.soak.test_sender_kills import kill_the_sender


async def test_answers_that_wait_at_a_kill_arrive_in_order_and_repeats_say_so(tmp_path: Path) -> None:
    await kill_the_sender(tmp_path, seed=7, chats=12, answers=2, kills=2, platform_name="whatsapp")
