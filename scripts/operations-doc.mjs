import { z } from 'zod';
import { operationExamples } from './operation-examples.mjs';

/** Sentences of the doc comment above each row of `src/api/operations.ts`, by name. */
export function summaries(source) {
  const rows = source.matchAll(/\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*(\w+): \w+(?:Endpoint|Stream),/g);
  return Object.fromEntries(
    [...rows].map(([, comment, name]) => [
      name,
      comment
        .replace(/^\s*\* ?/gm, '')
        .replace(/\s+/g, ' ')
        .trim(),
    ]),
  );
}

const after = {
  repeat: 'repeated as often as it takes',
  rebuy: 'may have been charged: bought again a bounded number of times (`rebuy`)',
  adopt: 'may have started something: looked for and adopted, never blindly started again (`adopt`)',
  look: 'may have acted: what it did is looked at first (`look`)',
};

const schemaOf = (schema) => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });

function typeOf(schema) {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].filter((type) => type !== 'null').join(' or ');
  if (Array.isArray(schema.type)) return schema.type.filter((type) => type !== 'null').join(' or ');
  if (schema.type === 'array') return `${typeOf(schema.items ?? {})}[]`;
  if (schema.type === 'object' && !schema.properties && schema.additionalProperties?.type) {
    return `object of ${schema.additionalProperties.type}`;
  }
  return schema.type ?? 'any';
}

/** The objects within a type, where their fields are shown with dots. */
function fieldsOf(schema, prefix, depth) {
  const parts = schema.anyOf ?? [schema];
  return parts.flatMap((part) => {
    if (part.type === 'array') return fieldsOf(part.items ?? {}, `${prefix}[]`, depth);
    if (part.type !== 'object') return [];
    return Object.entries(part.properties ?? {}).flatMap(([name, field]) => {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      const line = { path, type: typeOf(field), required: part.required?.includes(name) ?? false };
      return depth === 0 ? [line] : [line, ...fieldsOf(field, path, depth - 1)];
    });
  });
}

function fieldLines(schema, secrets, depth) {
  const fields = fieldsOf(schemaOf(schema), '', depth);
  return fields
    .map(({ path, type, required }) => {
      const kind = secrets?.includes(path) ? 'Secret' : type;
      return `\`${path}\`${required ? ' (required)' : ''} ${kind}`;
    })
    .join(' · ');
}

/** The other names that a list's records may stand under, and details that say nothing here. */
const aliases = /^(items|results|runs|monitors|tasks)\b|^(has_more|next_cursor)$/;
const details = /\bcostDollars\.(?!total)|^(warnings|notices)\[\]\./;

function rateOf({ weight, rateClass }) {
  const classes = typeof rateClass === 'string' ? [rateClass] : [...new Set([{}, { type: 'deep' }].map(rateClass))];
  const units =
    weight === 0 ? 'free of the rate, obeys a block' : `${weight} unit${weight === 1 ? '' : 's'} of the rate`;
  return `${units} (${classes.map((name) => `\`${name}\``).join(', ')})`;
}

function section(name, endpoint, summary, stream) {
  const list = name.startsWith('list');
  const answer = stream ? stream.chunk : endpoint.response;
  const lines = fieldLines(answer, endpoint.secrets, 1).split(' · ');
  const shown = lines.filter((line) => {
    const field = line.slice(1).split('`')[0];
    return !details.test(field) && !(list && !stream && aliases.test(field));
  });
  const variants = Object.entries(endpoint.variants ?? {}).map(([form, { path }]) => `\`${form}\`: \`${path}\``);
  return [
    `### ${name}`,
    '',
    `\`${endpoint.method} ${endpoint.path}\`${stream ? ' as `text/event-stream`' : ''} · section ${(stream ?? endpoint).section}`,
    '',
    summary,
    '',
    `- ${endpoint.paid ? 'Paid' : 'Free'}; ${rateOf(endpoint)}; ${endpoint.idempotent ? 'idempotent' : 'not idempotent'}.`,
    `- A call without an answer: ${after[endpoint.retry]}.`,
    ...(variants.length === 0 ? [] : [`- Other forms, by the option \`variant\`: ${variants.join(', ')}.`]),
    `- Request: ${fieldLines(endpoint.request, [], 1)}`,
    `- ${stream ? 'Chunk' : 'Answer'}: ${shown.join(' · ')}`,
    '',
    '```js',
    operationExamples[name],
    '```',
    '',
  ];
}

function rangeText({ min, max }) {
  return max === null ? `at least ${min}` : `${min} to ${max}`;
}

function limitLines(profiles) {
  const flat = (value, path) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value) || value instanceof RegExp)
      return [[path, value]];
    if ('min' in value && 'max' in value) return [[path, rangeText(value)]];
    return Object.entries(value).flatMap(([name, inner]) => flat(inner, path === '' ? name : `${path}.${name}`));
  };
  const tables = Object.values(profiles).map((profile) => new Map(flat(profile, '')));
  const all = [...new Set(tables.flatMap((table) => [...table.keys()]))];
  const names = all.filter((name) => name !== 'profile' && !all.some((other) => other.startsWith(`${name}.`))).sort();
  const cell = (value) => {
    if (value === undefined || value === null) return '–';
    return Array.isArray(value) ? value.join(', ') || '–' : String(value).replaceAll('|', '\\|');
  };
  return [
    `| Limit | ${Object.keys(profiles).join(' | ')} |`,
    `|---|${'---|'.repeat(tables.length)}`,
    ...names.map((name) => `| \`${name}\` | ${tables.map((table) => cell(table.get(name))).join(' | ')} |`),
  ];
}

/** The text of docs/operations.md. `source` is that of `src/api/operations.ts`. */
export function operationsDoc({ operations, streams, limitProfiles }, source) {
  const told = summaries(source);
  const rows = Object.entries(operations);
  const link = (name) => `[${name}](#${name.toLowerCase()})`;
  return [
    '# Operations',
    '',
    'Made from the table in `src/api/operations.ts` by `node scripts/make-operations-doc.mjs`; `npm test` fails where the two differ.',
    'Each is a plain function of `createClient({ apiKey })`: one attempt, cut by `{ signal }`, answering with',
    '`{ data, status, requestId, costMicros, … }` or rejecting with `ApiError`, whose `verdict` says what to do. Each list also is',
    'an async iterator over all its pages: `client.each.<name>(filter)`. Fields that are not shown here reach the wire and stay in',
    'the answer. Sections are those of the interface; "public facts" are what the public service adds to it.',
    '',
    'In the examples `client` is such a client and `show` prints. They run in `npm test`, against the sandbox.',
    '',
    '| Operation | Request | Section | Paid | Rate units | Idempotent | Without an answer |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(
      ([name, { method, path, section: where, paid, weight, idempotent, retry }]) =>
        `| ${link(name)} | \`${method} ${path}\` | ${where} | ${paid ? 'yes' : 'no'} | ${weight} | ${idempotent ? 'yes' : 'no'} | \`${retry}\` |`,
    ),
    ...Object.entries(streams).map(
      ([name, { endpoint, section: where }]) =>
        `| ${link(name)} | \`${endpoint.method} ${endpoint.path}\` streamed | ${where} | ${endpoint.paid ? 'yes' : 'no'} | ${endpoint.weight} | ${endpoint.idempotent ? 'yes' : 'no'} | \`${endpoint.retry}\` |`,
    ),
    '',
    '## As activities',
    '',
    'Each operation is an activity of the same name, `(input, call?) -> { data, requests: [{ requestId, costDollars, bought }],',
    'costDollars }`: one attempt, whose failures have the type of the verdict. What is paid for is bought through the journal: the',
    'same request again, from whatever workflow, costs nothing. `call` may hold',
    '',
    '- `refreshAfterMs`: an answer older than this is bought again; 0 buys anew (default: an answer never expires)',
    '- `variant`: `v0` or `v1` of research; `beta`: tokens of beta features; `extraHeaders`.',
    '',
    'A result above 256 KiB comes as `{ landed, bytes, preview }`: `SearchflowPlugin.readLanded(landed)` has it. What a lost answer',
    'means is said with each operation (`rebuy`, `adopt`, `look`, `repeat`): `adopt` and `look` end with the failure `UnknownOutcome`',
    'and are never sent again by themselves. A `429` is waited for by everybody, above an hour it fails. `createMonitor` needs the',
    'option `secretFile`: the webhook secret goes there and never into a workflow. Auth style, beta tokens for every request and',
    'the profile of limits are options of `SearchflowPlugin`.',
    '',
    'The streamed forms have no activity. A stream is for somebody who watches, and a workflow does not: it would get the whole',
    'answer at its end, which the plain form gives at the same price. And where a stream breaks off, what came of it is no answer',
    'that could land: it would be paid for again. For an agent run use `createAgentRun`, then poll `getAgentRun`, which is free.',
    '',
    'Numbers in answers are those of JSON in JavaScript (IEEE doubles): whole numbers above 2^53 lose digits.',
    '',
    '## Plain',
    '',
    ...rows.flatMap(([name, endpoint]) => section(name, endpoint, told[name])),
    '## Streamed',
    '',
    'An async iterator. Leaving the loop cuts the connection. `[DONE]`, a terminal event, or the connection’s end where that',
    'counts, ends it; anything else is `StreamDropped` with `lastEventId`.',
    '',
    ...Object.entries(streams).flatMap(([name, stream]) => section(name, stream.endpoint, told[name], stream)),
    '## Limits checked before sending',
    '',
    'By profile: `contract` is the interface’s word (default), `live` what the public service takes. – is no limit.',
    '',
    ...limitLines(limitProfiles),
    '',
  ].join('\n');
}
