"""Content of a Telegram message: its own text, and the text that it shares (a contact, a poll, a place)."""

from collections.abc import Iterator
from typing import cast

from sophon_channels.contract import SharedText
from sophon_channels.json_fields import JsonObject, get_int, get_object, get_objects, get_text, sanitize_text
from sophon_channels.text.single_line import to_single_line

MAX_RICH_TEXT_DEPTH = 60
"""Levels of nesting of a rich message that are read."""


def read_wordless_content(message: JsonObject) -> str:
    """Return the text for content of the sender that has none: sticker, dice. Pure."""
    dice, sticker = get_object(message, "dice"), get_object(message, "sticker")
    if dice:
        value = get_int(dice, "value")
        return f"{get_text(dice, 'emoji') or 'dice'}{'' if value is None else f' {value}'}"
    return (get_text(sticker, "emoji") or "(a sticker)") if sticker else ""


def read_rich_message(message: JsonObject) -> str:
    """Return the text of a rich message, one line per block, without its formatting. Pure."""
    blocks = get_object(message, "rich_message").get("blocks")
    if not isinstance(blocks, list):
        return ""
    return "\n".join(line for line in _lines(cast("list[object]", blocks), 0) if line.strip())


def describe_shared(message: JsonObject) -> tuple[SharedText, ...]:
    """Return what a message shares: place, contact, poll, checklist, game, invoice. Pure."""
    described = (
        ("location", _describe_place(message)),
        ("contact", _describe_contact(get_object(message, "contact"))),
        ("poll", _describe_poll(get_object(message, "poll"))),
        ("checklist", _describe_checklist(get_object(message, "checklist"))),
        ("game", _join(get_object(message, "game"), "title", "description")),
        ("invoice", _describe_invoice(get_object(message, "invoice"))),
    )
    return tuple(SharedText(kind, text) for kind, text in described if text)


def _describe_place(message: JsonObject) -> str:
    venue = get_object(message, "venue")
    location = get_object(message, "location") or get_object(venue, "location")
    if not location and not venue:
        return ""
    coordinates = ", ".join(
        str(degrees)
        for key in ("latitude", "longitude")
        if isinstance(degrees := location.get(key), int | float) and abs(degrees) <= 360
    )
    live = "live location" if get_int(location, "live_period") else ""
    parts = (_join(venue, "title", "address", separator=", "), coordinates or "without coordinates", live)
    return ", ".join(part for part in parts if part)


def _describe_contact(contact: JsonObject) -> str:
    if not contact:
        return ""
    name = _join(contact, "first_name", "last_name", separator=" ")
    return f"{name or '(no name)'}, {to_single_line(get_text(contact, 'phone_number')) or '(no number)'}"


def _describe_poll(poll: JsonObject) -> str:
    if not poll:
        return ""
    options = [f"- {to_single_line(get_text(option, 'text'))}" for option in get_objects(poll, "options")]
    return "\n".join([get_text(poll, "question"), *options]).strip() or "(a poll without text)"


def _describe_checklist(checklist: JsonObject) -> str:
    if not checklist:
        return ""
    tasks = [
        f"[{'x' if get_int(task, 'completion_date') else ' '}] {to_single_line(get_text(task, 'text'))}"
        for task in get_objects(checklist, "tasks")
    ]
    return "\n".join([get_text(checklist, "title"), *tasks]).strip() or "(a checklist without text)"


def _describe_invoice(invoice: JsonObject) -> str:
    if not invoice:
        return ""
    amount = get_int(invoice, "total_amount")
    total = "" if amount is None else f"{amount} {to_single_line(get_text(invoice, 'currency'))} (smallest units)"
    return "\n".join(part for part in (_join(invoice, "title", "description"), total) if part) or "(an invoice)"


def _join(data: JsonObject, *keys: str, separator: str = "\n") -> str:
    return separator.join(text for key in keys if (text := get_text(data, key).strip()))


def _lines(blocks: list[object], depth: int) -> Iterator[str]:
    """Yield the lines of rich blocks; a block that holds blocks, items or rows of cells yields theirs."""
    if depth > MAX_RICH_TEXT_DEPTH:
        return
    for block in blocks:
        if isinstance(block, list):  # a row of cells
            yield " | ".join(_inline(cell, depth + 1) for cell in cast("list[object]", block))
        elif isinstance(block, dict):
            fields = cast("JsonObject", block)
            yield " ".join(
                text
                for key in ("label", "summary", "text", "expression", "caption", "credit")
                if (text := _inline(fields.get(key), depth + 1))
            )
            for key in ("blocks", "items", "cells"):
                inner = fields.get(key)
                if isinstance(inner, list):
                    yield from _lines(cast("list[object]", inner), depth + 1)


def _inline(text: object, depth: int) -> str:
    """Return the text of a rich text, which is a string, a list of rich texts, or an object around one."""
    if depth > MAX_RICH_TEXT_DEPTH:
        return ""
    if isinstance(text, str):
        return sanitize_text(text)
    if isinstance(text, list):
        return "".join(_inline(part, depth + 1) for part in cast("list[object]", text))
    if not isinstance(text, dict):
        return ""
    fields = cast("JsonObject", text)
    own = next((fields[key] for key in ("text", "expression", "alternative_text") if key in fields), "")
    url = fields.get("url")
    shown = _inline(own, depth + 1)
    return f"{shown} ({sanitize_text(url)})" if isinstance(url, str) and url != shown else shown
