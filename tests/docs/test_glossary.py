"""docs/glossary.md has each term once, and one for each package whose name is no plain word or technology."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "glossary.md").read_text().partition("## ")[0]
MEANINGS = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", TABLE, flags=re.MULTILINE)[1:])
PACKAGES = [ROOT / "sophon", *(ROOT / folder / f"sophon_{folder}" for folder in ("middlewares", "channels", "hosting"))]
PLAIN = """
agentic anthropic api attachments audit authentication authorization averages builtin cli commands composition
connections console doctor evaluation filter flow grammars http imports inbound information invoker language
languages learning litellm llm loop mcp observability offline ollama openai outbound parsing planner plugins
post postgresql protocol python rabbitmq rate recovery redis reference remote rendering replies rules schema
search sections security sending server settings simulation sql state store stores tables telegram telemetry testing
text texts usage vectors webhooks whatsapp
"""


def test_each_term_is_defined_once_in_alphabetical_order() -> None:
    terms = re.findall(r"^\| ([^|]+?) \| ", TABLE, flags=re.MULTILINE)[1:]
    assert terms == sorted(set(terms), key=str.lower)


def test_each_term_has_a_meaning_in_a_sentence() -> None:
    assert [term for term, meaning in MEANINGS.items() if not meaning.endswith(".")] == []


def test_the_name_of_each_package_is_a_term_or_plain() -> None:
    known = {
        word for text in (*MEANINGS, *re.findall(r"\*([^*|]+)\*", TABLE)) for word in re.split(r"[\s-]", text.lower())
    }
    known |= {f"{word}s" for word in known} | {word.removesuffix("y") + "ies" for word in known} | set(PLAIN.split())
    names = {
        path.parent.name for package in PACKAGES for path in package.rglob("__init__.py") if path.parent not in PACKAGES
    }
    words = {word for name in names for word in name.strip("_").split("_")}
    assert sorted(words - known) == []
