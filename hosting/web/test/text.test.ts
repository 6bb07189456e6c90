import assert from "node:assert/strict";
import { test } from "node:test";
import { settledBlocks } from "../src/text/blocks";
import { cost, duration, tokens } from "../src/text/format";
import { safeLink } from "../src/text/links";
import { onOneLine, visible } from "../src/text/visible";

test("blocks are cut where a paragraph is over, and joined they are the text", () => {
  const text = "# Title\n\nOne\ntwo\n\n- a\n\n- b\n\nThree\n\n```py\nx\n\ny\n```\n\nFour";
  const found = settledBlocks(text);
  assert.equal(found.join(""), text);
  assert.deepEqual(found, ["# Title\n\n", "One\ntwo\n\n- a\n\n- b\n\n", "Three\n\n", "```py\nx\n\ny\n```\n\n", "Four"]);
});

test("nothing is cut inside of a fence, however much of it there is", () => {
  for (const fence of ["```", "~~~~"]) assert.equal(settledBlocks(`${fence}\na\n\nb\n\n# c`).length, 1);
});

test("whatever grows, its blocks are the text, and settled ones never change", () => {
  const text = "a\n\n# b\n\n```\nc\n\nd\n```\n\n1. e\n\n   f\n\ng\n\n> h\n\ni";
  let before: string[] = [];
  for (let end = 1; end <= text.length; end++) {
    const now = settledBlocks(text.slice(0, end));
    assert.equal(now.join(""), text.slice(0, end));
    assert.deepEqual(now.slice(0, Math.max(0, before.length - 1)), before.slice(0, -1));
    before = now;
  }
});

test("what would act or hide is shown", () => {
  assert.equal(visible("a\u202eb\u0007c\u001b[0m\r\nd\u200be"), "a‹202E›b␇c␛[0m\nd‹200B›e");
  assert.equal(visible("é 👩🏽 日本 עברית\tx"), "é 👩🏽 日本 עברית\tx");
});

test("one line is one line, and its cut leaves signs whole", () => {
  assert.equal(onOneLine("a\n b\tc", 10), "a b c");
  assert.equal(onOneLine("👍👍👍👍", 3), "👍👍…");
});

test("links lead to the web or to mail", () => {
  for (const good of ["https://example.org/", "http://127.0.0.1/", "mailto:ada@example.org"]) assert.equal(safeLink(good), good);
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", "vbscript:x", "/api/me", "//evil", "#x", ""])
    assert.equal(safeLink(bad), null);
});

test("numbers are read as people read them", () => {
  assert.deepEqual([duration(12), duration(1500), duration(83_000), duration(7_500_000)], ["12 ms", "1.5 s", "1 min 23 s", "2 h 5 min"]);
  assert.deepEqual([tokens(999), tokens(1_727), tokens(2_500_000)], ["999 tokens", "1.7k tokens", "2.50M tokens"]);
  assert.deepEqual([cost(0), cost(420), cost(1_230_000)], ["$0", "$0.0004", "$1.23"]);
});
