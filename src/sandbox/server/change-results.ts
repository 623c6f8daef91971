import { z } from 'zod';
import { hashText } from '../base/hash.js';

const item = z.looseObject({ url: z.string().optional(), id: z.string().optional() });
const answerSchema = z.looseObject({
  results: z.array(item).optional(),
  data: z.array(item).optional(),
  statuses: z.array(z.looseObject({ id: z.string() })).optional(),
});

/** Ways to change the results of an answer. The changed answer is still valid JSON of the right shape. */
export type ResultsChange = 'shuffle' | 'repeat' | 'lose' | 'add' | 'unknown';

/**
 * Changes the `results` of an answer, or the `data` of a list. Other bodies do not change. A client that matches results by
 * position, or relies on their number, then fails.
 */
export function changeResults(body: Buffer, change: ResultsChange): Buffer {
  const answer = answerSchema.safeParse(JSON.parse(body.toString('utf8'))).data;
  const items = answer?.results ?? answer?.data;
  if (!answer || !items) return body;
  const { statuses } = answer;
  const [first] = items;
  if (change === 'shuffle') {
    items.sort((left, right) => hashText(nameOf(left), 3) - hashText(nameOf(right), 3));
    statuses?.sort((left, right) => hashText(left.id, 5) - hashText(right.id, 5));
  }
  if (change === 'repeat' && first) items.push(first);
  if (change === 'lose') items.shift();
  if (change === 'add') {
    const url = 'https://nobody-asked.example/';
    items.unshift({ id: url, url, title: 'Not asked for', text: 'Nobody asked for this page.' });
    statuses?.unshift({ id: url, status: 'success', source: 'cached' });
  }
  if (change === 'unknown') {
    for (const one of items) one.novelty = { nested: [null, '', 0] };
    statuses?.push({ id: 'https://nobody-asked.example/', status: 'deferred', error: null });
    Object.assign(answer, { notices: [{ code: 'NEW' }] });
  }
  return Buffer.from(JSON.stringify(answer));
}

function nameOf({ url, id }: z.infer<typeof item>): string {
  return url ?? id ?? '';
}
