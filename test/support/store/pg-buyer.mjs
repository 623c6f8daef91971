// A process that buys units through a journal in PostgreSQL until all of them have landed. To "send" a request it writes a line into a
// file, by which tests check all purchases. It prints each step on standard output, and can kill or suspend itself at a chosen step.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ClaimLost } from '../../../dist/core/purchase/journal.js';
import { PgJournal } from '../../../dist/store/postgres/journal/pg-journal.js';
import { connectStore } from '../../../dist/store/postgres/schema/store-schema.js';

const { url, bill, keys, perRequest, deadAfterMs, at } = JSON.parse(process.argv[2]);
const postgres = await connectStore(url, { applicationName: 'buyer', patienceMs: 60_000 });
const journal = await PgJournal.open(postgres, { team: 'team', deadAfterMs });
const seen = {};

/** Prints a step. At the nth step of the chosen name the process sends itself a signal: SIGKILL or SIGSTOP. */
async function step(name) {
  process.stdout.write(`${name}\n`);
  seen[name] = (seen[name] ?? 0) + 1;
  if (at?.step !== name || seen[name] !== at.nth) return;
  // The line must be written before the signal stops the process.
  await new Promise((resolve) => process.stdout.write('now\n', resolve));
  process.kill(process.pid, at.signal);
  await delay(1);
}

async function buy(owner, batch) {
  const estimateMicros = 1000 * batch.length;
  const id = await journal.intend({
    ...{ owner, segment: 'job/gen/000000', operation: 'contents', keys: batch, estimateMicros },
    deadline: Date.now() + 60_000,
  });
  await step('intended');
  appendFileSync(bill, `${batch.join(' ')}\n`);
  await step('sent');
  const units = batch.map((key) => ({
    ...{ key, unit: `https://example.com/${key}`, status: 'success', errorTag: null, httpStatus: null },
    ...{ source: 'cached', costMicros: 1000, result: { text: 'page' } },
  }));
  await journal.land(id, { requestId: `${process.pid}`, fetchedAt: Date.now(), units });
  await step('landed');
}

let left = keys;
while (left.length > 0) {
  const owner = randomUUID();
  const claim = await journal.claim(left, owner);
  await step('claimed');
  const mine = claim.mine.map(({ key }) => key);
  left = claim.theirs;
  try {
    for (let from = 0; from < mine.length; from += 3 * perRequest) {
      const batches = [0, 1, 2].map((nth) => mine.slice(from + nth * perRequest, from + (nth + 1) * perRequest));
      await Promise.all(batches.filter((batch) => batch.length > 0).map((batch) => buy(owner, batch)));
    }
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error;
    process.stdout.write('lost\n');
    left = keys;
  }
  await journal.release(owner);
  if (left === claim.theirs && left.length > 0) await journal.waitForAny(left);
}
await journal.close();
await postgres.close();
process.stdout.write('done\n');
