// A process that loads batches until it is done or killed. Says a line after each.
import { readFileSync } from 'node:fs';
import { createDuckDbSink } from '../../dist/sinks/index.js';

const [, , file, batchesFile] = process.argv;
const { batches } = JSON.parse(readFileSync(batchesFile, 'utf8'));
const sink = createDuckDbSink({ file });
for (const batch of batches) {
  const { already } = await sink.load(batch);
  if (!already) process.stdout.write(`${batch.slice}\n`);
}
await sink.close();
