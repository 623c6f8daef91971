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
  repeat: 'is repeated until it is answered',
  rebuy: 'may have been charged. It is retried a limited number of times (`rebuy`)',
  adopt: 'may have started a run or task, which is searched for at the service before another one is started (`adopt`)',
  check: 'may have had an effect. The effect is checked before the call is repeated (`check`)',
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

/** The fields of a type; fields of inner objects are shown with dots. */
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

/** Other names of a list's records, and details without use here. */
const aliases = /^(items|results|runs|monitors|tasks)\b|^(has_more|next_cursor)$/;
const details = /\bcostDollars\.(?!total)|^(warnings|notices)\[\]\./;

function rateOf({ weight, rateClass }) {
  const classes = typeof rateClass === 'string' ? [rateClass] : [...new Set([{}, { type: 'deep' }].map(rateClass))];
  const units = weight === 0 ? 'no rate cost, but waits during a block' : `rate cost ${weight}`;
  const named = classes.map((name) => `\`${name}\``).join(', ');
  return `${units} (rate ${classes.length > 1 ? 'classes' : 'class'} ${named})`;
}

function section(name, endpoint, summary, stream) {
  const list = name.startsWith('list');
  const answer = stream ? stream.chunk : endpoint.response;
  const lines = fieldLines(answer, endpoint.secrets, 1).split(' · ');
  const shown = lines.filter((line) => {
    const field = line.slice(1).split('`')[0];
    return !details.test(field) && !(list && !stream && aliases.test(field));
  });
  return [
    `### ${name}`,
    '',
    `\`${endpoint.method} ${endpoint.path}\`${stream ? ' as `text/event-stream`' : ''}`,
    '',
    // The line above names the request, so the summary need not repeat it.
    summary.replace(/ API reference: [^ ]+ [^ ]+\.$/, ''),
    '',
    `- ${endpoint.paid ? 'Paid' : 'Free'}; ${rateOf(endpoint)}; ${endpoint.idempotent ? 'idempotent' : 'not idempotent'}.`,
    `- A call without an answer ${after[endpoint.retry]}.`,
    `- Request: ${fieldLines(endpoint.request, [], 1)}`,
    `- ${stream ? 'Chunk' : 'Answer'}: ${shown.join(' · ')}`,
    '',
    '```js',
    operationExamples[name],
    '```',
    '',
  ];
}

/** The text of docs/reference/operations.md. `source` is that of `src/api/operations.ts`. */
export function operationsDoc({ operations, streams }, source) {
  const summary = summaries(source);
  const rows = Object.entries(operations);
  const link = (name) => `[${name}](#${name.toLowerCase()})`;
  return [
    '# Operations',
    '',
    '`npm run generate` makes this page from the table in `src/api/operations.ts`; `npm test` fails if the two differ.',
    '',
    'Each operation is a plain function of `createClient({ apiKey })`. It makes one attempt, which `{ signal }` cancels. It resolves to',
    '`{ data, status, requestId, costMicros, … }` or rejects with `ApiError`, whose `verdict` names the next step. Each list is also',
    'an async iterator over all its pages: `client.each.<name>(filter)`. Fields that are not shown here are sent too, and are kept in',
    'the answer. The request of an operation names its page in the API reference of the service.',
    '',
    'In the examples, `client` is such a client, and `show` prints its arguments. `npm test` runs the examples against the sandbox.',
    '',
    '| Operation | Request | Paid | Rate cost | Idempotent | Without an answer |',
    '|---|---|---|---|---|---|',
    ...rows.map(
      ([name, { method, path, paid, weight, idempotent, retry }]) =>
        `| ${link(name)} | \`${method} ${path}\` | ${paid ? 'yes' : 'no'} | ${weight} | ${idempotent ? 'yes' : 'no'} | \`${retry}\` |`,
    ),
    ...Object.entries(streams).map(
      ([name, { endpoint }]) =>
        `| ${link(name)} | \`${endpoint.method} ${endpoint.path}\` streamed | ${endpoint.paid ? 'yes' : 'no'} | ${endpoint.weight} | ${endpoint.idempotent ? 'yes' : 'no'} | \`${endpoint.retry}\` |`,
    ),
    '',
    '## As activities',
    '',
    'Each operation is an activity of the same name, `(input, call?) -> { data, requests: [{ requestId, costDollars, bought }],',
    'costDollars }`; workflow code calls it through [`operations()`](../start/your-worker.md). An attempt sends at most one paid request, and',
    'Temporal retries the attempt. An `ApiError` becomes an `ApplicationFailure` whose type is that of its verdict, such as `RateLimited`. With',
    'a record, paid operations are bought through the journal, so the same request again, from any workflow, costs nothing. `bought`: this',
    'activity paid, in any of its attempts; `costDollars` is the sum of these; `estimated`: the service reported no cost. `call` may hold',
    '',
    '- `refreshAfterMs`: an answer older than this is bought again; 0 buys every time (default: an answer never expires)',
    '- `maxCostDollars`: a request with a higher estimate is not sent; `maxRebuys`: repeats of a request whose answer got lost (default 3)',
    '- `maxInlineBytes`: the largest result that is returned as a value (default 1 MiB)',
    '- `beta`: tokens of beta features; `extraHeaders`: headers without secrets; `unchecked`.',
    '',
    'Instead of a larger result, the activity returns `{ landed, bytes, preview }`. The activity `readAnswer({ landed })` returns `{ answers, next }`:',
    'as many answers as fit, and the keys that are left. `SearchflowPlugin.readLanded(landed)` reads them for an activity of the same worker.',
    'Without a record it fails as `ResultTooLarge`. If an answer is lost, the next step depends on the operation (`rebuy`, `adopt`, `check` or',
    '`repeat`). With `check`, and for `createResearchTask`, the activity ends with the failure `UnknownOutcome` and is never sent again by itself.',
    'After a `429` all workers wait as long as the service asks. `createMonitor` needs the option `secretFile`: the webhook secret is written',
    'to this file and never into a workflow. Auth style, headers, proxies and beta tokens for every request are options of `SearchflowPlugin`.',
    '',
    'The streamed forms have no activity, because a stream is for a person who watches. A workflow would get the answer only at its end,',
    'and the plain form returns the same answer at the same price. If a stream breaks off, its answer cannot land, and would be paid for',
    'again. For an agent run use `createAgentRun`, then poll `getAgentRun`, which is free.',
    '',
    'Numbers in answers are those of JSON in JavaScript (IEEE doubles): whole numbers above 2^53 lose digits.',
    '',
    '## Plain',
    '',
    ...rows.flatMap(([name, endpoint]) => section(name, endpoint, summary[name])),
    '## Streamed',
    '',
    'Each of these operations is an async iterator. Leaving the loop closes the connection. A stream ends with `[DONE]`, with a terminal',
    'event or, for some operations, with the end of the connection. After any other end it fails with `StreamDropped`, which has',
    '`lastEventId`.',
    '',
    ...Object.entries(streams).flatMap(([name, stream]) => section(name, stream.endpoint, summary[name], stream)),
    '## What is checked before sending',
    '',
    'A request is refused before it is sent if a value cannot be meant: a wrong type, an empty query, a number below its range, a day that',
    'does not exist, a form that no JSON Schema has. A misspelt name, a misspelt value and a field of another operation are refused, too,',
    'with the nearest name: the service would ignore the field, and the answer would be bought without its effect. The option',
    '`unchecked: true` sends names and values as they are; unknown ones far from any known name are sent in any case. A null counts as an',
    'absent field, and is sent.',
    '',
    'Everything that only the service knows is left to the service: how many results a team may ask for, which fields go together, which',
    'values exist. Its refusal (`400`) costs nothing. `effort: "max"` of an agent run and `highlights.dynamic` need a token of a beta feature,',
    'which is sent with them.',
    '',
  ].join('\n');
}
