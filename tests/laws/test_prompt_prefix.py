"""What a provider caches: requests of a session begin as the ones before them, byte by byte."""

from tests.bench.prompt_cache import cached_share


async def test_each_turn_repeats_the_prompt_of_the_turn_before_it() -> None:
    cached, repeated = await cached_share()
    # What differs is a rest of less than a token per turn.
    assert repeated - cached < 0.005
    assert cached > 0.85
