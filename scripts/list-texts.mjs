// Prints every text of the program for people: help, progress, summaries, errors, warnings, comments of tables. One a line,
// sorted, with its files and lines; `{…}` is an inserted value. For reviews of all texts as a list: `npm run -s texts [word]`.
import { readdirSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { inRoot, root } from './root.mjs';

const [wanted = ''] = process.argv.slice(2);
const sql =
  /^[\s(]*(--|\[\{|\{"|FORMAT|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|COPY|SET|FROM|WHERE|GROUP|ORDER|LEFT|INNER|ON|AND|COMMENT|BEGIN|CASE|VALUES|RETURNING|PRAGMA|ATTACH|GRANT|LOCK|TABLE)\b/;
/** Two adjacent words of letters. */
const isText = (text) => /[A-Za-z]{2,},? [a-z]{2,}/.test(text) && !sql.test(text);

const sources = readdirSync(inRoot('src'), { recursive: true, encoding: 'utf8' }).filter((path) => /\.ts$/.test(path));
const lineOf = (source, offset) => source.slice(0, offset).split('\n').length;

/** Texts of a file. Parts of one message that are joined by `+` are one text. */
function textsOf(path) {
  const source = readFileSync(path, 'utf8');
  const found = [];
  const joined = new Set();
  const textIn = (node) => {
    if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
    if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked ?? '').join('{…}');
    if (node.type !== 'BinaryExpression' || node.operator !== '+') return null;
    const [left, right] = [textIn(node.left), textIn(node.right)];
    return left === null || right === null ? null : left + right;
  };
  const note = (node) => {
    if (joined.has(node)) return;
    const text = textIn(node);
    if (text === null) return;
    for (const part of [node.left, node.right]) if (part) joined.add(part);
    if (isText(text))
      found.push({
        text: text
          .trim()
          .replaceAll(/\s*\n\s*/g, ' ⏎ ')
          .replaceAll('\0', '\\0'),
        at: `${path.slice(root.length + 1)}:${lineOf(source, node.start)}`,
      });
  };
  new Visitor({ BinaryExpression: note, Literal: note, TemplateLiteral: note }).visit(parseSync(path, source).program);
  return found;
}

const uses = new Map();
for (const { text, at } of sources.flatMap((file) => textsOf(inRoot('src', file))))
  uses.set(text, [...(uses.get(text) ?? []), at]);
for (const [text, at] of [...uses].sort(([a], [b]) => a.localeCompare(b, 'en')))
  if (text.toLowerCase().includes(wanted.toLowerCase())) console.log(`${text}  [${at.join(', ')}]`);
