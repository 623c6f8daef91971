import type { Sandbox } from '../../../src/sandbox/index.js';
import { type InputRow, plainRows } from './folder.js';

/** 30 rows. Two of them have the same request, and one has no request. */
export const rows: InputRow[] = [
  ...plainRows(28),
  ['28', 'Company 3', 'https://site-3.example/about'],
  ['29', '', 'not a url'],
];

/** The JSON schema of the answer to each row. */
export const schema = {
  type: 'object',
  properties: { ceo: { type: 'string' }, size: { type: 'integer' }, id: { type: 'string' } },
  required: ['ceo', 'size', 'id'],
};
export const query = 'What is {{name}}?';

/** Number of purchases of each request at the sandbox. A request is identified by its contents without our tag. */
export function timesBought(sandbox: Pick<Sandbox, 'bill'>): Map<string, number> {
  const times = new Map<string, number>();
  for (const [key, count] of Object.entries(sandbox.bill().keys)) {
    const at = key.indexOf(' ');
    const operation = key.slice(0, at);
    const request = JSON.parse(key.slice(at + 1)) as { metadata?: unknown };
    const { metadata: _tag, ...asked } = request;
    const name = `${operation} ${JSON.stringify(asked)}`;
    times.set(name, (times.get(name) ?? 0) + count);
  }
  return times;
}
