import assert from "node:assert/strict";
import { numberFootnotes, type FootnoteToken } from "../src/text/footnote-tokens";
import { test } from "node:test";
import { Tokenizer, type Tokens } from "marked";
import { isMath } from "../src/text/math-tokens";
import { directionOf } from "../src/text/direction";
import { MAX_DELIMITERS, MAX_MAIL, MAX_NESTING, MAX_URL, parseMarkdown } from "../src/text/bounded-lexer";
import { MAX_WEIGHT, splitPortions } from "../src/text/text-portions";
import { splitBlocks } from "../src/text/markdown-blocks";
import { groupByDay } from "../src/text/day-groups";
import { formatCost, formatDuration, formatTime, formatTokens } from "../src/text/format";
import { safeLink } from "../src/text/safe-links";
import { MAX_MARKS, toOneLine, escapeControls } from "../src/text/escape-controls";

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
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", "vbscript:x", "tg://resolve?domain=x", "TG://user?id=1", "ftp://x.example/", "/api/me", "//evil", "#x", ""])
    assert.equal(safeLink(bad), null);
});

test("durations, tokens and costs are formatted", () => {
  assert.deepEqual([formatDuration(12), formatDuration(1500), formatDuration(83_000), formatDuration(7_500_000)], ["12 ms", "1.5 s", "1 min 23 s", "2 h 5 min"]);
  assert.deepEqual([formatTokens(999), formatTokens(1_727), formatTokens(2_500_000)], ["999 tokens", "1.7k tokens", "2.50M tokens"]);
  assert.deepEqual([formatCost(0), formatCost(420), formatCost(1_230_000)], ["$0", "$0.0004", "$1.23"]);
});

test("ordinary markdown is parsed as before, and hostile markdown becomes text", () => {
  const types = (text: string): string[] => parseMarkdown(text).flatMap((block) => ("tokens" in block ? (block.tokens ?? []).map((token) => token.type) : []));
  assert.deepEqual(types("a *b* [c](https://d.example) `e`"), ["text", "em", "text", "link", "text", "codespan"]);
  for (const unit of ["[{", "_a_", "*a", "**a ", "![", "`a", "<a", "~~a", "[[]", "[a](", "a@a ", "http://a "]) {
    const text = unit.repeat(MAX_DELIMITERS + 1).trim();
    assert.deepEqual(types(text), ["text"], unit);
    assert.equal(parseMarkdown(text)[0]?.raw, text);
  }
});

test("nesting is bounded, and nothing of a nested text is lost", () => {
  for (const unit of ["> ", ">", "- ", "1. "]) {
    const parsed = JSON.stringify(parseMarkdown(`${unit.repeat(20_000)}end`));
    assert.match(parsed, /end/u);
    assert.ok(parsed.split('"tokens"').length < 4 * MAX_NESTING, unit);
  }
});

test("no long address reaches the patterns of the parser, whose time is quadratic in it", () => {
  const seen: number[] = [];
  const { inlineText } = Tokenizer.prototype;
  Tokenizer.prototype.inlineText = function (src) {
    seen.push(Math.max(...src.split(/\s/u).map((word) => word.length)));
    return inlineText.call(this, src);
  };
  try {
    for (const text of [`${"a".repeat(60_000)}@`, `x@y ${"a".repeat(60_000)}`, `https://a.b/${").".repeat(30_000)}`, `${"a.".repeat(30_000)}@`, `WWW.${"a.".repeat(30_000)}`])
      assert.equal(parseMarkdown(text)[0]?.raw, text);
    assert.deepEqual(seen, []);
    parseMarkdown(`https://example.org/${"a".repeat(MAX_URL - 30)} ${"b".repeat(MAX_MAIL - 30)}`);
    assert.notDeepEqual(seen, []);
  } finally {
    Tokenizer.prototype.inlineText = inlineText;
  }
});

test("delimiters count in either case", () => {
  const [block] = parseMarkdown("WWW.a ".repeat(MAX_DELIMITERS + 1).trim());
  assert.deepEqual("tokens" in block! && block.tokens?.map((token) => token.type), ["text"]);
});

test("a long text is split into portions of bounded work, and nothing of it is lost", () => {
  const ordinary = "# Title\n\nOne `two` **three**\n\n```py\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
  assert.deepEqual(splitPortions(ordinary), [{ text: ordinary, plain: false }]);
  const code = `\`\`\`py\n${"x = [1]\n".repeat(9000)}\`\`\`\n`;
  assert.deepEqual(splitPortions(code), [{ text: code, plain: false }]);
  for (const text of ["a\n\n".repeat(20_000), "|a|b|\n|-|-|\n" + "|\n".repeat(30_000), "```\n".repeat(20_000), "# a\n".repeat(15_000), "a  \n".repeat(15_000), "***\n".repeat(15_000), "- a\n".repeat(15_000), "\n".repeat(60_000) + "x", "*a* `b`\n\n".repeat(6000)]) {
    const portions = splitPortions(text);
    assert.equal(portions.map((portion) => portion.text).join(""), text);
    for (const portion of portions)
      if (!portion.plain) assert.ok(JSON.stringify(parseMarkdown(portion.text)).split('"type"').length <= 4 * MAX_WEIGHT, text.slice(0, 20));
  }
});

test("a finished portion of a streamed text never changes", () => {
  const text = "a *b*\n\n".repeat(5000);
  const before = splitPortions(text.slice(0, 20_000));
  assert.ok(before.length > 1);
  assert.deepEqual(splitPortions(text).slice(0, before.length - 1), before.slice(0, -1));
});

test("heaps of combining marks are cut, and the marks of scripts are not", () => {
  assert.equal(escapeControls(`a${"\u0301".repeat(50_000)}b`), `a${"\u0301".repeat(MAX_MARKS)}‹${50_000 - MAX_MARKS} more marks›b`);
  const written = "é ệ e\u0302\u0323 שָׁלוֹם ที่ हिन्दी";
  assert.equal(escapeControls(written), written);
});

test("the first letter tells the direction", () => {
  assert.deepEqual(["", "12 abc", "12 שלום abc", "مرحبا", "\n".repeat(60_000)].map(directionOf), ["ltr", "ltr", "rtl", "rtl", "ltr"]);
});

test("conversations are grouped by day, in their order", () => {
  const now = new Date(2026, 10, 23, 0, 30);
  const at = (...parts: [number, number, number, number?]): string => new Date(parts[0], parts[1], parts[2], parts[3] ?? 12).toISOString();
  const times = [at(2026, 10, 23, 0), at(2026, 10, 22, 23), at(2026, 10, 22, 1), at(2026, 10, 17), at(2026, 10, 16), at(2026, 9, 31), at(2026, 9, 1)];
  const groups = groupByDay(times, (time) => time, now);
  assert.deepEqual(groups.map(({ items }) => items.length), [1, 2, 1, 1, 2]);
  assert.deepEqual(groups.slice(0, 3).map(({ label }) => label), ["Today", "Yesterday", "Last seven days"]);
  assert.deepEqual(groups.flatMap(({ items }) => items), times);
});

test("a time of today is a time of day, another one has its date", () => {
  const now = new Date(2026, 10, 23, 12);
  const today = formatTime(new Date(2026, 10, 23, 9, 5).toISOString(), now);
  assert.match(today, /9:05|09:05/u);
  assert.match(formatTime(new Date(2025, 10, 23, 9, 5).toISOString(), now), /2025/u);
});

test("mathematics is found between its delimiters, and money is money", () => {
  const inlines = (text: string): string[] => (parseMarkdown(text)[0] as Tokens.Paragraph).tokens.filter(isMath).map((token) => token.text);
  assert.deepEqual(inlines("Euler: $e^{i\\pi} + 1 = 0$, and \\(a_b\\)."), ["e^{i\\pi} + 1 = 0", "a_b"]);
  for (const text of ["$5 and $10", "costs $5-$10", "a $ b $ c", "`$x$`", "\\$x\\$", "$$", "pay $"]) assert.deepEqual(inlines(text), [], text);
  const [before, block, after] = parseMarkdown("Before\n\n$$\n\\int_0^1 x\n$$\n\nAfter").filter(({ type }) => type !== "space");
  assert.deepEqual([before?.type, block?.type, (block as { text?: string }).text, after?.type], ["paragraph", "math", "\\int_0^1 x", "paragraph"]);
  assert.deepEqual(inlines("so:\n$$\na + b\n$$\nand more"), ["a + b"]);
  assert.equal((parseMarkdown("\\[ x^2 \\]")[0] as { text?: string }).text, "x^2");
});

test("many dollar signs take linear time", () => {
  const begun = performance.now();
  parseMarkdown("$a ".repeat(50_000));
  parseMarkdown(`$${"a ".repeat(50_000)}`);
  parseMarkdown("$$a\n".repeat(20_000));
  assert.ok(performance.now() - begun < 3_000);
});

test("footnotes are numbered in the order of their references, and those without a text stay as they were written", () => {
  const numbers = (text: string): [string, number][] => [...numberFootnotes(text)];
  assert.deepEqual(numbers("One[^b] two[^a] and[^b] none[^c].\n\n[^a]: A\n[^b]: B"), [["b", 1], ["a", 2]]);
  assert.deepEqual(numbers("`[^a]` and\n\n```\n[^a]: x\n[^a]\n```\n\n[^a]: A"), []);
  const [paragraph, first, second] = parseMarkdown("One[^1].\n\n[^1]: *A*\nmore\n[^2]: B").filter(({ type }) => type !== "space");
  assert.deepEqual((paragraph as Tokens.Paragraph).tokens.map(({ type, raw }) => [type, raw]), [["text", "One"], ["footnoteReference", "[^1]"], ["text", "."]]);
  assert.deepEqual([first?.type, second?.type, (first as FootnoteToken).tokens[0]?.raw], ["footnote", "footnote", "*A*\nmore"]);
  assert.equal(parseMarkdown("[1]: https://example.org\n")[0]?.type, "def");
});

test("many footnotes take linear time", () => {
  const begun = performance.now();
  for (const text of ["[^a]", "[^a]: ", "[^a]: b\n", "[^a]: b\n\n", "```\n[^a]", "`[^", "[^a]:\n \n"]) {
    parseMarkdown(text.repeat(20_000));
    numberFootnotes(text.repeat(20_000));
  }
  assert.ok(performance.now() - begun < 4_000, `${performance.now() - begun} ms`);
});
