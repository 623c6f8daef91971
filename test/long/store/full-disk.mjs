// Buys on a disk of 16 MB that another writer fills while the requests are in flight; prints the result as JSON.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../../../dist/files/process-lock.js';
import { FileJournal } from '../../../dist/store/file/file-journal.js';

const [, , dir] = process.argv;
const keyOf = (number) => number.toString(16).padStart(32, '0');
const open = () => FileJournal.open(join(dir, 'journal'), { writes: true });
let journal = await open();
await journal.claim(
  Array.from({ length: 8 }, (_, index) => keyOf(index)),
  'a',
);
const intend = (number) =>
  journal.intend({
    ...{ owner: 'a', segment: 'job/gen/000000', operation: 'contents', keys: [keyOf(number)] },
    ...{ estimateMicros: 1000, deadline: Date.now() + 60_000 },
  });
const ids = [];
for (let number = 0; number < 6; number++) ids.push(await intend(number));

// Another writer fills the disk to the last byte.
let fill = 0;
for (let bytes = 1_048_576; bytes >= 1; ) {
  try {
    writeFileSync(join(dir, `filler-${fill}`), Buffer.alloc(bytes, 1));
    fill++;
  } catch {
    rmSync(join(dir, `filler-${fill}`), { force: true });
    bytes = Math.floor(bytes / 2);
  }
}

const land = (id, number) =>
  journal.land(id, {
    requestId: `request-${number}`,
    fetchedAt: Date.now(),
    units: [
      {
        ...{ key: keyOf(number), unit: `https://example.com/${number}`, status: 'success', errorTag: null },
        ...{ httpStatus: 200, source: 'crawled', costMicros: 1000, result: { text: String(number).repeat(800_000) } },
      },
    ],
  });
const refusedBy = (write) => {
  try {
    write();
    return null;
  } catch ({ code, path, message }) {
    return { code, path, named: message.includes(path) };
  }
};
const lock = refusedBy(() => tryLock(join(dir, 'held.lock')));
const landed = await Promise.allSettled(ids.map(land));
// The rest of the reserve has space for one more answer.
await intend(6);
const refused = await intend(7).then(
  () => null,
  (error) => error.message,
);
await journal.close();
journal = await open();
const kept = await journal.read(ids.map((_, number) => keyOf(number)));
for (let number = 0; number < fill; number++) rmSync(join(dir, `filler-${number}`));
await journal.claim([keyOf(7)], 'a');
const after = await intend(7).then(
  () => 'bought',
  (error) => error.message,
);
await journal.close();
const failures = landed.flatMap(({ reason }) => (reason ? [String(reason)] : []));
console.log(JSON.stringify({ lock, failures, refused, kept: kept.size, after }));
