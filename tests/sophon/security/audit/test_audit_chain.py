"""The hash chain of the audit log: what breaks it, and what may be removed without breaking it."""

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.audit.audit_chain import AuditEntry, chain_entry, compute_entry_hash, verify_audit
from tests.tables import table


def build_chain(count: int = 6) -> list[AuditEntry]:
    entries: list[AuditEntry] = []
    for index in range(count):
        texts = {"arguments": f"text {index}", "result": "é\ud800"}
        salts = dict.fromkeys(texts, f"{index:032x}")
        fields = {"event": "EXECUTED", "time": index, "tool": "files.read", "cost": 0.1 * index}
        entries.append(chain_entry(entries[-1] if entries else None, fields, texts, salts))
    return entries


def to_lines(entries: list[AuditEntry]) -> list[str]:
    return [entry.to_line() for entry in entries]


def change(line: str, path: tuple[str, ...], value: Any) -> str:
    entry = json.loads(line)
    inner = entry
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(entry)


def test_a_chain_that_nobody_touched_is_intact() -> None:
    lines = to_lines(build_chain())
    assert verify_audit(lines) is None
    assert verify_audit([f"{line}\n" for line in lines]) is None
    assert verify_audit([*lines, "", "\n"]) is None
    assert verify_audit([]) is None
    assert [json.loads(line)["number"] for line in lines] == [1, 2, 3, 4, 5, 6]


@table(
    ("path", "value"),
    [
        (("fields", "event"), "BLOCKED"),
        (("fields", "new"), 1),
        (("number",), 4),
        (("number",), True),
        (("previous_hash",), "0" * 64),
        (("hash",), "f" * 64),
        (("digests", "arguments"), "f" * 64),
        (("texts", "arguments"), "other"),
        (("texts", "arguments"), None),
        (("texts", "arguments"), 5),
        (("salts", "arguments"), "0"),
        (("texts", "more"), "text"),
        (("note",), "a key that no hash covers"),
        (("capability_level",), "safe"),
        (("capability_level",), None),
    ],
)
def test_a_changed_entry_is_the_first_that_breaks_the_chain(path: tuple[str, ...], value: Any) -> None:
    lines = to_lines(build_chain())
    lines[2] = change(lines[2], path, value)
    assert verify_audit(lines) == 3


def test_the_level_of_a_line_follows_from_its_fields() -> None:
    call = chain_entry(None, {"event": "executed", "capability": "execute_command", "risk": "critical"}, {}, {})
    line = call.to_line()
    assert json.loads(line)["capability_level"] == "restricted"
    assert verify_audit([line]) is None
    assert verify_audit([change(line, ("capability_level",), "safe")]) == 1


def _remove(lines: list[str]) -> list[str]:
    return [*lines[:2], *lines[3:]]


def _repeat(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[1], *lines[2:]]


def _swap(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


def _cut_a_line(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[2][:40], *lines[3:]]


def _blank_line(lines: list[str]) -> list[str]:
    return [*lines[:2], "", *lines[2:]]


def _duplicate_key(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[2].replace("{", '{"number":99,', 1), *lines[3:]]


def _nest_deeply(lines: list[str]) -> list[str]:
    return [*lines[:2], "[" * 100_000, *lines[3:]]


@table("attack", [_remove, _repeat, _swap, _cut_a_line, _blank_line, _duplicate_key, _nest_deeply])
def test_a_removed_repeated_moved_or_broken_line_breaks_the_chain(attack: Callable[[list[str]], list[str]]) -> None:
    assert verify_audit(attack(to_lines(build_chain()))) == 3


def test_texts_can_be_blanked_and_then_neither_guessed_nor_replaced() -> None:
    entries = build_chain()
    none: dict[str, str | None] = dict.fromkeys(entries[2].digests)
    entries[2] = replace(entries[2], texts=none, salts=none)
    lines = to_lines(entries)
    assert verify_audit(lines) is None
    assert "text 2" not in lines[2]
    assert f"{2:032x}" not in lines[2], "with its salt a short text could be found by trying"
    lines[2] = change(lines[2], ("texts", "arguments"), "text 2")
    assert verify_audit(lines) == 3


def test_the_oldest_entries_can_be_cut_off() -> None:
    entries = build_chain()
    rest = to_lines(entries[3:])
    assert verify_audit(rest) is None
    assert verify_audit(rest, previous_hash=entries[2].hash) is None
    assert verify_audit(rest, previous_hash=entries[1].hash) == 1


def test_a_first_entry_with_another_past_is_no_first_entry() -> None:
    forged = chain_entry(None, {"event": "x"}, {}, {})
    later = chain_entry(AuditEntry(0, {}, "", "e" * 64), {"event": "x"}, {}, {})
    assert verify_audit([forged.to_line()]) is None
    assert later.number == 1
    assert verify_audit([later.to_line()]) == 1


@given(st.integers(0, 5), st.data())
def test_no_change_of_a_character_goes_unnoticed(index: int, data: st.DataObject) -> None:
    lines = to_lines(build_chain())
    position = data.draw(st.integers(0, len(lines[index]) - 1))
    replacement = data.draw(st.characters(codec="utf-8").filter(lambda each: each != lines[index][position]))
    changed = lines[index][:position] + replacement + lines[index][position + 1 :]
    if json.loads(lines[index]) != _try_json(changed):  # an escape may be spelled in two ways
        lines[index] = changed
        assert verify_audit(lines) == index + 1


def _try_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def test_a_long_chain_is_checked_whole() -> None:
    lines = to_lines(build_chain(300))
    number = random.Random(5).randrange(1, 300)
    lines[number - 1] = change(lines[number - 1], ("fields", "tool"), "x")
    assert verify_audit(lines) == number


@given(
    st.dictionaries(
        st.text(),
        st.text() | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_the_hash_is_that_of_the_canonical_json(fields: dict[str, Any]) -> None:
    canonical = json.dumps([1, fields, {"a": "b"}, "c"], sort_keys=True, separators=(",", ":"))
    assert compute_entry_hash(1, fields, {"a": "b"}, "c") == hashlib.sha256(canonical.encode()).hexdigest()


@table("value", ["\x7f", "\x00\t\u2028", "é", "\ud800", "😀", 10**30, 1e16, True])
def test_a_value_that_libraries_write_differently_has_the_same_hash(value: Any) -> None:
    canonical = json.dumps([1, {"tool": value}, {}, ""], sort_keys=True, separators=(",", ":"))
    assert compute_entry_hash(1, {"tool": value}, {}, "") == hashlib.sha256(canonical.encode()).hexdigest()
