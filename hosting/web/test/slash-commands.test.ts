// Slash commands of the message field, the message that continues an answer, and links to messages.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { canContinue, continuationMessage } from "../src/model/continuation";
import { runCommand, suggest, type CommandActions, type CommandContext } from "../src/model/slash-commands";
import { createTurn, type Turn } from "../src/model/turn-reducer";
import { loadLanguage } from "../src/text/translate";

const SKILLS = [
  { name: "tax-forms", description: "Fills in forms.", argument_hint: "[year]" },
  { name: "stop", description: "Hides nothing.", argument_hint: "" },
  { name: "tidy", description: "Tidies up.", argument_hint: "" },
];
const CONTEXT: CommandContext = { models: ["a/one", "b/two"], mayChooseModel: true, skills: [] };
let done: string[] = [];

const ACTIONS: CommandActions = {
  chooseModel: (model) => void done.push(`model ${model}`),
  choosePlanning: (mode) => void done.push(`plan ${mode}`),
  stop: () => void done.push("stop"),
  startSession: () => void done.push("new"),
  fork: () => void done.push("fork"),
  regenerate: () => void done.push("regenerate"),
  continueTurn: () => void done.push("continue"),
  export: (format) => void done.push(`export ${format}`),
  help: () => void done.push("help"),
};

const run = (text: string, context = CONTEXT): string | null => runCommand(text, ACTIONS, context);

beforeEach(async () => {
  done = [];
  await loadLanguage("en");
});

test("each command does what it says", () => {
  for (const text of ["/model b/two", "/model AUTO", "/plan never", "/planning settings", "/stop", "/new ", "/fork", "/regenerate", "/retry", "/continue", "/export", "/export json", "/help"]) {
    assert.equal(run(text), "", text);
  }
  assert.deepEqual(done, ["model b/two", "model null", "plan Never", "plan null", "stop", "new", "fork", "regenerate", "regenerate", "continue", "export markdown", "export json", "help"]);
});

test("a text that only looks like a command is a message", () => {
  for (const text of ["/etc/hosts", "/", "/Model x", " /model", "a /stop", "/stop\nand go on", "/model a\nb", "//", "/1", ""]) {
    assert.equal(run(text), null, text);
  }
  assert.deepEqual(done, []);
});

test("a wrong command says what is wrong and does nothing", () => {
  assert.match(run("/stopp") ?? "", /There is no command \/stopp/);
  assert.match(run("/model") ?? "", /What should \/model choose/);
  assert.match(run("/model nothing") ?? "", /no model “nothing”/);
  assert.match(run("/plan sometimes") ?? "", /no planning mode “sometimes”/);
  assert.match(run("/stop now") ?? "", /takes nothing/);
  assert.match(run("/export pdf") ?? "", /markdown or json/);
  assert.match(run("/model b/two", { models: [], mayChooseModel: false, skills: [] }) ?? "", /may not choose/);
  assert.match(run("/constructor") ?? "", /There is no command/);
  assert.deepEqual(done, []);
});

test("the menu has the commands that begin as typed, then their arguments", () => {
  const texts = (text: string, context = CONTEXT): string[] => suggest(text, context).map((each) => each.text);
  assert.deepEqual(texts("/"), ["/model ", "/plan ", "/stop", "/new", "/fork", "/regenerate", "/continue", "/export", "/help"]);
  assert.deepEqual(texts("/e"), ["/export"]);
  assert.deepEqual(texts("/model "), ["/model auto", "/model a/one", "/model b/two"]);
  assert.deepEqual(texts("/model TW"), ["/model b/two"]);
  assert.deepEqual(texts("/plan n"), ["/plan settings", "/plan Never"]);
  assert.deepEqual(texts("/", { models: [], mayChooseModel: false, skills: [] })[0], "/plan ");
  for (const text of ["", "hello", "/x", "/stop ", "/model a b", "/model a/one\n", "a /"]) assert.deepEqual(texts(text), [], text);
});

test("skills that people may call stand behind the commands, and are sent as messages", () => {
  const context = { ...CONTEXT, skills: SKILLS };
  assert.deepEqual(suggest("/t", context), [
    { text: "/tax-forms ", description: "[year] · Fills in forms.", isComplete: false },
    { text: "/tidy ", description: "Tidies up.", isComplete: false },
  ]);
  assert.deepEqual(suggest("/tax-f", context).map((each) => each.text), ["/tax-forms "]);
  assert.deepEqual(suggest("/sto", context).map((each) => each.description), ["stop the running turn"]);
  assert.equal(run("/tax-forms 2025", context), null);
  assert.equal(run("/tidy", context), null);
  assert.equal(run("/stop", context), "");
  assert.match(run("/tidyup", context) ?? "", /There is no command/);
});

function ended(changes: Partial<Turn>): Turn {
  return { ...createTurn("t"), ...changes };
}

test("an answer that ended early can be continued, and only that", () => {
  assert.equal(canContinue(ended({ state: "completed", finishReason: "length", answer: "a" })), true);
  assert.equal(canContinue(ended({ state: "cancelled", answer: "a" })), true);
  assert.equal(canContinue(ended({ state: "completed", finishReason: "stop", answer: "a" })), false);
  assert.equal(canContinue(ended({ state: "cancelled" })), false);
  assert.equal(canContinue(ended({ state: "running", answer: "a" })), false);
});

test("a stopped answer is quoted, because the model has not kept it; of a long one the end", () => {
  assert.equal(continuationMessage(ended({ state: "completed", finishReason: "length" })), "Continue your last answer where it ended.");
  assert.equal(continuationMessage(ended({ state: "cancelled", answer: "one\ntwo" })), "Continue your answer, which was stopped here:\n\n> one\n> two");
  const long = continuationMessage(ended({ state: "cancelled", answer: `begin${"😀".repeat(600)}` }));
  assert.match(long, /\n> …(😀){600}$/u);
});

test("a link to a message is read again, and a wrong one opens the conversation", async () => {
  Object.assign(globalThis, { location: { hash: "" }, addEventListener: () => undefined }); // the router reads the address when it is loaded
  const { parseRoute, routeUrl } = await import("../src/model/router");
  const url = routeUrl({ page: "session", id: "a/b c", at: 7 });
  assert.equal(url, "#/session/a%2Fb%20c/7");
  assert.deepEqual(parseRoute(url), { page: "session", id: "a/b c", at: 7 });
  for (const at of ["0", "-1", "x", "1e9", "9".repeat(16), "1.5", "%00"]) assert.deepEqual(parseRoute(`#/session/s/${at}`), { page: "session", id: "s" }, at);
});
