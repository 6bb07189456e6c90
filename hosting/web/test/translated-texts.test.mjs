// Each text that the page shows goes through `t()`, `plural()` or `rich()`, and the catalogues of a language have exactly these
// texts: those of one feature alone in its folder. The sources are searched by their syntax.
import assert from "node:assert/strict";
import { basename, dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SyntaxKind } from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiler = new API({ cwd: root });
after(() => compiler.close());

/** Attributes and properties of components whose value is read. */
const READ_ATTRIBUTES = new Set(["aria-label", "aria-description", "aria-roledescription", "aria-valuetext", "alt", "label", "placeholder", "summary", "title", "verb", "what"]);
/** Attributes that hold no text. */
const OTHER_ATTRIBUTES = new Set(["class", "d", "href", "rel", "src", "style", "viewBox"]);
/** Elements whose content is no language: names of settings, commands, keys. */
const LANGUAGE_FREE_ELEMENTS = new Set(["code", "kbd"]);
/** Methods whose argument is a selector. */
const SELECTING = new Set(["closest", "matches", "querySelector", "querySelectorAll"]);
const TRANSLATING = new Set(["t", "plural", "rich"]);
/** Texts that are the same in each language, or that nobody reads. */
const EXCEPTIONS = new Set(["Sophon"]);

const WORD = /\p{L}{2,}/u;
/** Two words: elsewhere than in the markup, a single word is more often a code than a text. */
const SENTENCE = /\p{L}{2,},? \p{L}+/u;

const [project] = compiler.updateSnapshot({ openProject: join(root, "tsconfig.json") }).getProjects();
const files = (pattern) => project.rootFiles.filter((name) => pattern.test(relative(root, name))).map((name) => project.program.getSourceFile(name));
const catalogues = files(/^src\/languages\//);
const languages = catalogues.map((file) => basename(file.fileName));
const ofFeatures = files(/^src\/features\/\w+\/\w+\.ts$/).filter((file) => languages.includes(basename(file.fileName)));
const sources = files(/^src\/(?!languages\/|text\/translate\.ts$).*\.tsx?$/).filter((file) => !ofFeatures.includes(file));

/** The texts that a file translates: the first argument of `t` and `rich`, both forms of `plural`. */
function textsOf(file) {
  const texts = [];
  const visit = (node) => {
    if (node.kind === SyntaxKind.CallExpression && TRANSLATING.has(node.expression.text)) {
      texts.push(...(node.expression.text === "plural" ? node.arguments.slice(1, 3) : node.arguments.slice(0, 1)));
    }
    node.forEachChild(visit);
  };
  visit(file);
  return texts;
}

/** The folder of the feature that a file belongs to; "" without one. */
function featureOf(file) {
  return /^src\/features\/(\w+)\//.exec(relative(root, file.fileName))?.[1] ?? "";
}

/** The entries of a catalogue by key. */
function entriesOf(file) {
  const entries = new Map();
  const visit = (node) => {
    if (node.kind === SyntaxKind.PropertyAssignment) entries.set(node.name.text, node.initializer.text);
    node.forEachChild(visit);
  };
  visit(file);
  return entries;
}

/** The texts of a file that are not translated, each with its line. */
function untranslated(file) {
  const found = [];
  const report = (node, text) => {
    const shown = text.replace(/\s+/gu, " ").trim();
    if (!EXCEPTIONS.has(shown)) found.push(`${relative(root, file.fileName)}:${file.text.slice(0, node.getStart(file)).split("\n").length}: ${shown}`);
  };
  const literal = (node, pattern) => {
    if (node.kind === SyntaxKind.StringLiteral || node.kind === SyntaxKind.NoSubstitutionTemplateLiteral) {
      if (pattern.test(node.text)) report(node, node.text);
    } else if (node.kind === SyntaxKind.TemplateExpression) {
      const text = [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join("{}");
      if (pattern.test(text)) report(node, text);
    } else return false;
    return true;
  };
  /** The values that an expression can have: the branches of conditions. */
  const shown = (node) => {
    if (node.kind === SyntaxKind.ConditionalExpression) return [node.whenTrue, node.whenFalse].forEach(shown);
    if (node.kind === SyntaxKind.ParenthesizedExpression) return shown(node.expression);
    if (node.kind === SyntaxKind.BinaryExpression) return [node.left, node.right].forEach((side) => isOperand(node, side) && shown(side));
    literal(node, WORD);
  };
  const visit = (node) => {
    switch (node.kind) {
      case SyntaxKind.CallExpression:
        if (node.expression.kind === SyntaxKind.Identifier && TRANSLATING.has(node.expression.text)) {
          return node.arguments.forEach((argument) => isLiteral(argument) || visit(argument));
        }
        if (SELECTING.has(node.expression.name?.text)) return visit(node.expression);
        break;
      case SyntaxKind.JsxElement:
        if (LANGUAGE_FREE_ELEMENTS.has(node.openingElement.tagName.text)) return;
        break;
      case SyntaxKind.JsxText:
        if (WORD.test(node.text)) report(node, node.text);
        return;
      case SyntaxKind.JsxAttribute:
        if (OTHER_ATTRIBUTES.has(node.name.text)) return;
        if (READ_ATTRIBUTES.has(node.name.text) && node.initializer) shown(node.initializer.kind === SyntaxKind.JsxExpression ? node.initializer.expression : node.initializer);
        break;
      case SyntaxKind.JsxExpression:
        if (node.expression && (node.parent.kind === SyntaxKind.JsxElement || node.parent.kind === SyntaxKind.JsxFragment)) shown(node.expression);
        break;
      case SyntaxKind.ImportDeclaration:
      case SyntaxKind.LiteralType:
        return;
      default:
        if (literal(node, SENTENCE)) return node.kind === SyntaxKind.TemplateExpression ? node.templateSpans.forEach(visit) : undefined;
    }
    node.forEachChild(visit);
  };
  visit(file);
  return [...new Set(found)];
}

/** Whether the value of an operation is that of an operand: not of a comparison, nor the condition of `&&`. */
function isOperand(operation, side) {
  const operator = operation.operatorToken.kind;
  if (operator === SyntaxKind.AmpersandAmpersandToken) return side === operation.right;
  return [SyntaxKind.BarBarToken, SyntaxKind.QuestionQuestionToken, SyntaxKind.PlusToken].includes(operator);
}

function isLiteral(node) {
  return node.kind === SyntaxKind.StringLiteral;
}

test("each text that is translated is a literal, which the catalogues have as their key", () => {
  const others = sources.flatMap((file) => textsOf(file).filter((text) => !isLiteral(text)).map((text) => `${relative(root, file.fileName)}: ${text.getText(file)}`));
  assert.deepEqual(others, []);
});

/** The texts that files translate. */
const literalsOf = (files) => new Set(files.flatMap((file) => textsOf(file).filter(isLiteral).map((text) => text.text)));

for (const catalogue of catalogues) {
  const language = basename(catalogue.fileName);
  const common = entriesOf(catalogue);
  const own = ofFeatures.filter((file) => basename(file.fileName) === language);

  test(`every text has a translation in ${language}, that of one feature in its folder, and every translation a text`, () => {
    const all = literalsOf(sources);
    const found = { "without a translation": [], "without a text": [...common.keys()].filter((key) => !all.has(key)) };
    for (const feature of new Set(sources.map(featureOf))) {
      const texts = literalsOf(sources.filter((file) => featureOf(file) === feature));
      const keys = own.filter((file) => featureOf(file) === feature).flatMap((file) => [...entriesOf(file).keys()]);
      found["without a translation"].push(...[...texts].filter((text) => !common.has(text) && !keys.includes(text)));
      found["without a text"].push(...keys.filter((key) => !texts.has(key)));
    }
    assert.deepEqual(found, { "without a translation": [], "without a text": [] });
  });

  test(`a text has one translation in ${language}`, () => {
    const all = new Map(common);
    const others = own.flatMap((file) => [...entriesOf(file)].filter(([key, value]) => {
      const known = all.get(key) ?? value;
      all.set(key, value);
      return common.has(key) || known !== value;
    }));
    assert.deepEqual(others, []);
  });
}

test("a feature's catalogue is one of the page's", async () => {
  for (const catalogue of catalogues) {
    const imported = [...catalogue.text.matchAll(/from "\.\.\/features\/(\w+)\//g)].map(([, feature]) => feature);
    assert.deepEqual(imported, ofFeatures.filter((file) => basename(file.fileName) === basename(catalogue.fileName)).map(featureOf).sort());
  }
});

test("no text of the page is written in one language only", () => {
  assert.deepEqual(sources.flatMap(untranslated), []);
});
