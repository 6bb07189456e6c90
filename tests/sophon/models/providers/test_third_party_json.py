"""What is read from a provider's JSON, whatever it is."""

from sophon.models.providers.third_party_json import as_text


def test_a_text_has_no_lone_surrogate() -> None:
    assert as_text("a\udfffb") == "a?b"
    assert as_text("grüße 🔑") == "grüße 🔑"
