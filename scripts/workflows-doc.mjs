import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { plainSchema } from './input-schemas.mjs';
import { summaries } from './operations-doc.mjs';
import { inRoot } from './root.mjs';
import { introduction } from './workflows-texts.mjs';

const ANY = 'any JSON';

const schemaOf = (schema) => plainSchema(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));

/** The text of docs/reference/workflows.md, and the JSON Schemas of results and activities. */
export function workflowsDoc({
  workflowInputs,
  workflowInterface,
  operations,
  operationResult,
  callOptions,
  readAnswerSchemas,
}) {
  const comments = workflowComments();
  const names = Object.keys(workflowInputs);
  const operationTexts = summaries(readFileSync(inRoot('src', 'api', 'operations.ts'), 'utf8'));
  const page = [
    ...introduction,
    '## Overview',
    '',
    '| workflow | signals | queries | updates |',
    '|---|---|---|---|',
    ...names.map((name) => {
      const { signals, queries, updates } = workflowInterface[name];
      const list = (messages) =>
        Object.keys(messages)
          .map((message) => `\`${message}\``)
          .join(', ');
      return `| [\`${name}\`](#${name.toLowerCase()}) | ${list(signals)} | ${list(queries)} | ${list(updates)} |`;
    }),
    '',
    ...names.flatMap((name) => section(name, workflowInputs[name], workflowInterface[name])),
    ...activities(),
  ];
  return {
    page: `${page.join('\n')}\n`,
    results: listed(
      names.flatMap((name) => {
        const { result, signals, queries, updates } = workflowInterface[name];
        const messages = Object.entries({ ...signals, ...queries, ...updates });
        const parts = messages.flatMap(([message, { content, answer }]) => [
          [`${message}.content`, content],
          [`${message}.answer`, answer],
        ]);
        const all = [['result', result], ...parts];
        return all.flatMap(([part, schema]) => (schema ? [[`${name}.${part}`, schemaOf(schema)]] : []));
      }),
    ),
    activities: listed([
      ['callOptions', schemaOf(callOptions)],
      ...Object.entries({ ...operations, readAnswer: readAnswerSchemas }).flatMap(([name, { request, response }]) => [
        [`${name}.input`, schemaOf(request)],
        [`${name}.result`, schemaOf(operationResult(response))],
      ]),
    ]),
  };

  function section(name, inputs, { result, signals, queries, updates }) {
    // The inputs of scheduled workflows have sections of their own.
    const rows = (schema) => fieldRows(schemaOf(schema), [], name === 'scheduledJob' ? 0 : 2);
    const twin = names.find((other) => workflowInterface[other] === workflowInterface[name]);
    const own = [
      ...(result === null ? [] : [`### Result of ${name}`, '', ...table(rows(result), false)]),
      ...['signal', 'query', 'update'].flatMap((kind, nth) =>
        Object.entries([signals, queries, updates][nth]).flatMap(([message, { does, content, answer }]) => [
          `**${kind[0].toUpperCase()}${kind.slice(1)} \`${message}\`.** ${does}`,
          ...(content ? ['', ...contentOf('Content', content)] : ['']),
          ...(answer && kind === 'query' ? contentOf('Answer', answer) : []),
          ...(answer && kind === 'update' ? ['The answer is that of the query `progress`.', ''] : []),
        ]),
      ),
    ];
    return [
      `## ${name}`,
      '',
      comments[name],
      '',
      ...inputs.flatMap((schema, nth) => [
        `### ${nth === 0 ? 'Input' : 'Options'} of ${name}`,
        '',
        ...table(rows(schema), true),
        // Such a request is passed on as it is.
        ...(name.startsWith('run') && schemaOf(schema).additionalProperties
          ? ['Further fields are passed on to the service.', '']
          : []),
      ]),
      ...(twin === name ? own : [`Its result and messages are those of [\`${twin}\`](#${twin.toLowerCase()}).`, '']),
    ];
  }

  function contentOf(title, schema) {
    const json = schemaOf(schema);
    if (json.type !== 'object') return [`${title}: ${typeText(json)}.`, ''];
    return table(fieldRows(json), title === 'Content', title);
  }

  function activities() {
    const rows = Object.entries(operations).map(([name, { paid }]) => {
      const [first] = operationTexts[name].split(/(?<=\.) /);
      return `| [\`${name}\`](operations.md#${name.toLowerCase()}) | ${paid ? 'yes' : 'no'} | ${first} |`;
    });
    const reads =
      'Reads answers that are too large for a history by their keys, as many as fit; `next` has the keys that are left.';
    rows.push(`| [\`readAnswer\`](operations.md#as-activities) | no | ${reads} |`);
    return [...introduction.activities, '| activity | paid | description |', '|---|---|---|', ...rows];
  }
}

/** The doc comment of each exported workflow. What concerns only TypeScript or recorded histories is left out. */
function workflowComments() {
  const files = readdirSync(inRoot('src', 'workflows'), { recursive: true }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) => {
    const source = readFileSync(inRoot('src', 'workflows', file), 'utf8');
    return [
      ...source.matchAll(
        /\/\*\*\n((?: \*[^\n]*\n)+?) \*\/\nexport async function (\w+)|\/\*\* ([^\n]*) \*\/\nexport async function (\w+)/g,
      ),
    ];
  });
  return Object.fromEntries(
    found.map(([, long, name, short, other]) => [
      name ?? other,
      (long ?? short)
        .replace(/^ \* ?/gm, '')
        .replace(/\s+/g, ' ')
        .replace(/^`\w+`: (\w)/, (_, letter) => letter.toUpperCase())
        .replace(
          / ?(Start the workflow by name with plain JSON[^.]*\.|The second argument is internal[^.]*\.|API reference: \S+|See `\w+`\.)/g,
          '',
        )
        .replace(/ ?(Signals|Query|Updates) `[^.;]*[.;]( query `progress`\.)?/g, '')
        .trim(),
    ]),
  );
}

/** A schema a line, so that a change shows as one line. */
function listed(schemas) {
  const lines = schemas.map(([name, schema]) => `    ${JSON.stringify(name)}: ${JSON.stringify(schema)}`);
  return `{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n  "$defs": {\n${lines.join(',\n')}\n  }\n}\n`;
}

function table(rows, isInput, title = 'Field') {
  const lines = rows.map(({ path, type, required, doc }) => {
    const note = isInput ? (required ? ' (required)' : '') : required ? '' : ' (may be absent)';
    return `| \`${path}\`${note} | ${type} | ${doc} |`;
  });
  return rows.length === 0
    ? ['Any JSON.', '']
    : [`| ${title.toLowerCase()} | type | description |`, '|---|---|---|', ...lines, ''];
}

/** The fields of an object, with those of inner objects after a dot. */
function fieldRows(schema, path = [], depth = 2) {
  const parts = (schema.anyOf ?? schema.oneOf ?? [schema]).filter((part) => part.type === 'object');
  const rows = parts.flatMap((part) =>
    Object.entries(part.properties ?? {}).flatMap(([name, field]) => {
      const own = [...path, name];
      const row = {
        path: own.join('.'),
        type: typeText(field),
        required: parts.every(({ required = [] }) => required.includes(name)),
        doc: (field.description ?? '').replaceAll('|', '\\|'),
      };
      return [row, ...(depth === 0 ? [] : fieldRows(field.items ?? field, own, depth - 1))];
    }),
  );
  return [...new Set(rows.map((row) => row.path))].map((name) => {
    const same = rows.filter((row) => row.path === name);
    const all = [...new Set(same.map(({ type }) => type))].filter(
      (type, _, { length }) => length === 1 || type !== ANY,
    );
    return { ...same[0], type: all.join(' or ') };
  });
}

/** The type of a value in words: `text`, `whole number 1 to 100`, `"pause" or "unpause"`. */
function typeText(schema) {
  const all = schema.anyOf ?? schema.oneOf;
  if (all) return [...new Set(all.map(typeText))].join(' or ');
  if (schema.must) return schema.must;
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
  const { type, minimum, maximum } = schema;
  if (type === 'array') return `list of ${typeText(schema.items ?? {})}`;
  if (type === 'object' && schema.additionalProperties?.type && !schema.properties)
    return `object of ${typeText(schema.additionalProperties)}`;
  if (type === 'integer' || type === 'number') {
    const word = type === 'integer' ? 'whole number' : 'number';
    if (maximum !== undefined && maximum < 1e9) return `${word} ${minimum ?? 0} to ${maximum}`;
    return minimum ? `${word} from ${minimum}` : word;
  }
  return { string: 'text', boolean: 'boolean', object: 'object', null: 'null' }[type] ?? ANY;
}
