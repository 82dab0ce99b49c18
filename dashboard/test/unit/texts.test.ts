import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import ts from 'typescript';

const SRC = new URL('../../src/', import.meta.url);
/** Attributes that somebody reads or hears. */
const READ = new Set([
  'alt', 'aria-description', 'aria-label', 'aria-placeholder', 'aria-roledescription', 'aria-valuetext', 'code', 'hint', 'label',
  'lead', 'name', 'placeholder', 'text', 'title', 'what',
]);
/** What is called with a text for a person: toasts. */
const SAY = new Set(['done', 'failed']);
/** Words in components that are the same in every language, and what they are. */
const SAME: Record<string, string> = {
  Mailwright: 'the name of the program',
  English: 'a language in its own words',
  Deutsch: 'a language in its own words',
  PDF: 'a format',
  EUR: 'a currency',
  USD: 'a currency',
  GBP: 'a currency',
  SPF: 'a check of senders',
  DKIM: 'a check of senders',
  DMARC: 'a check of senders',
  Spam: 'a check of content, in German too',
  Virus: 'a check of content, in German too',
  email: 'a column of a file, and a value of utm_medium',
  subscribed: 'a column of a file',
  newsletter: 'a value of utm_source',
  bought: 'an event',
};
/** What programs read: addresses, names with points and underscores, secrets, rules, lines of a file. */
const CODE = /^(https?:\/\/\S*|\S+@\S+|[\w-]+([._=][\w-]*)+\S*|(sk|whsec)_…)$/;

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
  .map((name) => {
    const text = readFileSync(new URL(name, SRC), 'utf8');
    return { name, source: ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS) };
  });

const isSame = (text: string) => text in SAME || text.split('\n').every((line) => CODE.test(line));
const hasWords = (text: string) => /\p{L}{2}/u.test(text) && !isSame(text.trim());

/** The literal texts that an expression may come to. What is computed elsewhere is not followed. */
function literals(node: ts.Node): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.flatMap((span) => [span.literal.text, ...literals(span.expression)])];
  if (ts.isConditionalExpression(node)) return [...literals(node.whenTrue), ...literals(node.whenFalse)];
  if (ts.isParenthesizedExpression(node) || ts.isJsxExpression(node) || ts.isAsExpression(node)) return node.expression ? literals(node.expression) : [];
  if (ts.isBinaryExpression(node)) {
    const isAnd = node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
    const isEither = [ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.PlusToken].includes(node.operatorToken.kind);
    if (isAnd) return literals(node.right);
    return isEither ? [...literals(node.left), ...literals(node.right)] : [];
  }
  return [];
}

/** What of a piece of a file is text for a person. */
function textsIn(node: ts.Node): string[] {
  if (ts.isJsxText(node)) return [node.text];
  if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent)) return literals(node);
  // a name of a form's field is no text, unlike the name of what is shown
  if (ts.isJsxAttribute(node) && node.initializer && READ.has(node.name.getText())) {
    const isField = node.name.getText() === 'name' && node.parent.properties.some((other) => ts.isJsxAttribute(other) && ['label', 'type', 'aria-label'].includes(other.name.getText()));
    return isField || /^[a-z]/.test(node.parent.parent.tagName.getText()) && node.name.getText() === 'name' ? [] : literals(node.initializer);
  }
  if (ts.isCallExpression(node) && SAY.has(node.expression.getText())) return node.arguments.flatMap(literals);
  return [];
}

test('no text stands in a component', () => {
  const found: string[] = [];
  for (const { name, source } of files) {
    const look = (node: ts.Node): void => {
      for (const text of textsIn(node)) {
        if (!hasWords(text)) continue;
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        found.push(`${name}:${line + 1}: ${text.trim()}`);
      }
      ts.forEachChild(node, look);
    };
    look(source);
  }
  assert.deepEqual(found, []);
});

/** What a constant of a file is declared as. */
function declared(source: ts.SourceFile, name: string): ts.Expression | undefined {
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const one of statement.declarationList.declarations) if (one.name.getText() === name) return one.initializer;
  }
  return undefined;
}

/** The calls of `texts({ en, de })`, with the file that each is in. */
function catalogues(): { name: string; en: ts.Expression; de: ts.Expression }[] {
  const found: { name: string; en: ts.Expression; de: ts.Expression }[] = [];
  for (const { name, source } of files) {
    const look = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && node.expression.getText() === 'texts') {
        const [given] = node.arguments;
        assert.ok(given && ts.isObjectLiteralExpression(given), `${name}: texts() takes both languages`);
        const of = (language: string) => {
          const property = given.properties.find((one) => one.name?.getText() === language);
          const value = property && ts.isPropertyAssignment(property) ? property.initializer : declared(source, language);
          assert.ok(value, `${name}: there is no ${language}`);
          return value;
        };
        found.push({ name, en: of('en'), de: of('de') });
      }
      ts.forEachChild(node, look);
    };
    look(source);
  }
  return found;
}

const keyOf = (name: ts.PropertyName) => (ts.isStringLiteralLike(name) ? name.text : name.getText());

/** The shape of a catalogue as lines: each key with what it is, a text or a function, and how many values go into it. */
function shape(node: ts.Expression, at: string): string[] {
  if (ts.isAsExpression(node) || ts.isSatisfiesExpression(node) || ts.isParenthesizedExpression(node)) return shape(node.expression, at);
  if (ts.isObjectLiteralExpression(node)) {
    return node.properties.flatMap((property) => {
      if (ts.isPropertyAssignment(property)) return shape(property.initializer, `${at}.${keyOf(property.name)}`);
      if (ts.isMethodDeclaration(property)) return [`${at}.${keyOf(property.name)}(${property.parameters.length})`];
      return [`${at}.${property.getText()}`];
    });
  }
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap((one, index) => shape(one, `${at}[${index}]`));
  if (ts.isArrowFunction(node)) return [`${at}(${node.parameters.length})`];
  return [at];
}

test('every catalogue says the same in both languages', () => {
  const all = catalogues();
  assert.ok(all.length > 30);
  for (const { name, en, de } of all) {
    assert.match(name, /(^|[/-])(texts|starter-words|phrases)\.ts$/, 'catalogues are in texts.ts');
    assert.deepEqual(shape(de, '').toSorted(), shape(en, '').toSorted(), name);
  }
});

/** Folders of features that are no resource of the API, and what they are. */
const NO_RESOURCE: Record<string, string> = {
  field: 'the custom fields of contacts, which the API has at /contacts/fields',
  home: 'the start page, which shows what others have',
  onboarding: 'the first steps in a project, by the state that the project has',
  settings: 'the page whose tabs are the resources that are set',
};

test('a feature has the name of its resource', () => {
  const api = new URL('../../../crates/api/src/', import.meta.url);
  const resources = new Set(readdirSync(api, { recursive: true, encoding: 'utf8' }).map((name) => name.split('/').at(-1)?.replace(/\.rs$/, '')));
  const features = readdirSync(new URL('features/', SRC));
  assert.deepEqual(features.filter((name) => !resources.has(name) && !(name in NO_RESOURCE)), []);
  assert.deepEqual(Object.keys(NO_RESOURCE).filter((name) => resources.has(name) || !features.includes(name)), [], 'exceptions that are none');
});
