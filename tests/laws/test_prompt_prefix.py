"""What a provider caches: requests of a session begin as the ones before them, byte by byte, up to the marks."""

from tests.bench.prompt_cache import AnthropicProvider, OpenAIProvider, cached_share


async def test_each_turn_repeats_the_prompt_of_the_turn_before_it() -> None:
    cached, repeated = await cached_share(OpenAIProvider())
    # What differs is a rest of less than a token per turn.
    assert repeated - cached < 0.005
    assert cached > 0.85


async def test_each_turn_reads_what_the_turn_before_it_has_marked() -> None:
    provider = AnthropicProvider()
    cached, repeated = await cached_share(provider)
    assert repeated - cached < 0.005
    assert cached > 0.85
    # Each token is written once, and nothing of a prompt is left outside of the cache.
    assert provider.input_tokens - provider.cached_tokens - provider.written_tokens < 3 * len(provider.prompts)
