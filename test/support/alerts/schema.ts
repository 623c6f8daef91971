import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Alert } from '../../../src/core/alerts/alert.js';
import type { InputSchema } from '../../../src/core/check-names.js';
import { schemaProblems } from '../../../src/core/check-value.js';

const file = fileURLToPath(new URL('../../../docs/reference/alerts.schema.json', import.meta.url));
const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { readonly $defs: Readonly<Record<string, InputSchema>> };

/** What is wrong with an alert by the documented schema; unknown fields of its data count as wrong. */
export function alertProblems({ type, data }: Alert): readonly string[] {
  const schema = $defs[type];
  if (!schema) return [`${type} is not documented`];
  return schemaProblems(type, data, { ...schema, additionalProperties: false });
}
