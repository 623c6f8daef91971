import { z } from 'zod';
import { hashText } from './hash.js';

const answerSchema = z.looseObject({
  results: z.array(z.looseObject({ url: z.string() })),
  statuses: z.array(z.looseObject({ id: z.string() })).optional(),
});

/** Ways in which results can come other than expected, all of them lawful JSON of the right shape. */
export type ResultsChange = 'shuffle' | 'repeat' | 'lose' | 'add' | 'unknown';

/** Changes the results of a true answer. Who matches them by position, or trusts their number, is wrong from here on. */
export function changeResults(body: Buffer, change: ResultsChange): Buffer {
  const answer = answerSchema.parse(JSON.parse(body.toString('utf8')));
  const { results, statuses } = answer;
  const [first] = results;
  if (change === 'shuffle') {
    results.sort((left, right) => hashText(left.url, 3) - hashText(right.url, 3));
    statuses?.sort((left, right) => hashText(left.id, 5) - hashText(right.id, 5));
  }
  if (change === 'repeat' && first) results.push(first);
  if (change === 'lose') results.shift();
  if (change === 'add') {
    const url = 'https://nobody-asked.example/';
    results.unshift({ id: url, url, title: 'Not asked for', text: 'Nobody asked for this page.' });
    statuses?.unshift({ id: url, status: 'success', source: 'cached' });
  }
  if (change === 'unknown') {
    for (const one of results) one.novelty = { nested: [null, '', 0] };
    statuses?.push({ id: 'https://nobody-asked.example/', status: 'deferred', error: null });
    Object.assign(answer, { notices: [{ code: 'NEW' }] });
  }
  return Buffer.from(JSON.stringify(answer));
}
