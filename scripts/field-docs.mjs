import { readdirSync, readFileSync } from 'node:fs';
import { inRoot } from './root.mjs';

/** The interfaces and object types of `src/core`: the doc comment and the type of each field, and the types that each one extends. */
export function readTypes() {
  const types = new Map();
  const files = readdirSync(inRoot('src', 'core'), { recursive: true }).filter((file) => file.endsWith('.ts'));
  for (const file of files) {
    const source = readFileSync(inRoot('src', 'core', file), 'utf8');
    for (const [, name, inherits, body] of source.matchAll(/^export (?:interface|type) (\w+)([^{;]*?)\{\n(.*?)^\}/gms))
      types.set(name, { inherits: inherits.match(/\b[A-Z]\w+/g) ?? [], fields: fieldsOf(body) });
  }
  return types;
}

/** Fields at the first level of a type, two spaces deep. */
function fieldsOf(body) {
  const lines = body.matchAll(/^ {2}(?:\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*)?readonly (\w+)\??: ([^\n]*)/gm);
  return new Map([...lines].map(([, comment = '', name, type]) => [name, { doc: plain(comment), type }]));
}

/** A doc comment as one line of Markdown, with the names of workflows instead of those of types. */
function plain(comment) {
  return comment
    .replace(/^\s*\* ?/gm, '')
    .replace(/\s+/g, ' ')
    .replace(/\{@link DEFAULT_EVENT_WAREHOUSE\}/g, '`out/events.duckdb`')
    .replace(/`?\{@link STOP_AFTER\}`?/g, '50')
    .replace(/\{@link ([\w.]+)\}/g, '`$1`')
    .replace(/ See `StagedJob\.\w+`\./g, '')
    .replaceAll('EnrichCsvInput', 'enrichCsv')
    .replaceAll('|', '\\|')
    .trim();
}

/** Returns the comment on a field, such as `['freshness', 'freshAfter']`, of a type; an empty text if there is none. */
export function fieldDoc(types, typeNames, [field, ...rest]) {
  for (const name of typeNames) {
    const type = types.get(name);
    if (!type) continue;
    const found = type.fields.get(field);
    if (found && rest.length === 0 && found.doc !== '') return found.doc;
    const inner = found && rest.length > 0 ? (found.type.match(/\b[A-Z]\w+/g) ?? []) : [];
    const doc = (inner.length > 0 && fieldDoc(types, inner, rest)) || fieldDoc(types, type.inherits, [field, ...rest]);
    if (doc) return doc;
  }
  return '';
}
