import assert from "node:assert/strict";
import { test } from "node:test";
import { splitBlocks } from "../src/text/markdown-blocks";
import { formatCost, formatDuration, formatTokens } from "../src/text/format";
import { safeLink } from "../src/text/safe-links";
import { toOneLine, escapeControls } from "../src/text/escape-controls";

test("blocks end at paragraphs, and joined they equal the text", () => {
  const text = "# Title\n\nOne\ntwo\n\n- a\n\n- b\n\nThree\n\n```py\nx\n\ny\n```\n\nFour";
  const found = splitBlocks(text);
  assert.equal(found.join(""), text);
  assert.deepEqual(found, ["# Title\n\n", "One\ntwo\n\n- a\n\n- b\n\n", "Three\n\n", "```py\nx\n\ny\n```\n\n", "Four"]);
});

test("fenced code is never split", () => {
  for (const fence of ["```", "~~~~"]) assert.equal(splitBlocks(`${fence}\na\n\nb\n\n# c`).length, 1);
});

test("for streamed text, joined blocks equal the text, and finished blocks never change", () => {
  const text = "a\n\n# b\n\n```\nc\n\nd\n```\n\n1. e\n\n   f\n\ng\n\n> h\n\ni";
  let before: string[] = [];
  for (let end = 1; end <= text.length; end++) {
    const now = splitBlocks(text.slice(0, end));
    assert.equal(now.join(""), text.slice(0, end));
    assert.deepEqual(now.slice(0, Math.max(0, before.length - 1)), before.slice(0, -1));
    before = now;
  }
});

test("control and invisible characters become visible", () => {
  assert.equal(escapeControls("a\u202eb\u0007c\u001b[0m\r\nd\u200be"), "a‹202E›b␇c␛[0m\nd‹200B›e");
  assert.equal(escapeControls("é 👩🏽 日本 עברית\tx"), "é 👩🏽 日本 עברית\tx");
});

test("toOneLine joins lines and truncates between characters", () => {
  assert.equal(toOneLine("a\n b\tc", 10), "a b c");
  assert.equal(toOneLine("👍👍👍👍", 3), "👍👍…");
});

test("only http, https and mailto links are allowed", () => {
  for (const good of ["https://example.org/", "http://127.0.0.1/", "mailto:ada@example.org"]) assert.equal(safeLink(good), good);
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", "vbscript:x", "/api/me", "//evil", "#x", ""])
    assert.equal(safeLink(bad), null);
});

test("durations, tokens and costs are formatted", () => {
  assert.deepEqual([formatDuration(12), formatDuration(1500), formatDuration(83_000), formatDuration(7_500_000)], ["12 ms", "1.5 s", "1 min 23 s", "2 h 5 min"]);
  assert.deepEqual([formatTokens(999), formatTokens(1_727), formatTokens(2_500_000)], ["999 tokens", "1.7k tokens", "2.50M tokens"]);
  assert.deepEqual([formatCost(0), formatCost(420), formatCost(1_230_000)], ["$0", "$0.0004", "$1.23"]);
});
