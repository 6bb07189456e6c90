"""The scenario of tests/hosting/runs/test_process_kill.py at its full size: killed twenty times during 500 messages."""

from pathlib import Path

from tests.hosting.runs.test_process_kill import kill_again_and_again


async def test_killed_again_and_again_every_message_has_one_outcome(tmp_path: Path, seed: int) -> None:
    await kill_again_and_again(tmp_path, seed=seed, sessions=20, messages=25, kills=20)
