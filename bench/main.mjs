#!/usr/bin/env node
// npm run bench -- NAME [--option value …] [--save NAME]. Prints figures and ends with exit code 1 if a bar is missed. `--save` writes
// bench/results/NAME.json and docs/why/benchmarks.md.
import { writeFileSync } from 'node:fs';
import { benchmarksDoc, savedResults } from '../scripts/benchmarks-doc.mjs';
import { inRoot } from '../scripts/root.mjs';
import { allMet, save } from './results.mjs';

const known = [
  ...['enrich', 'memory', 'start', 'rate', 'limits', 'agents', 'actions', 'growth', 'peers', 'restarts', 'sources'],
  ...['events', 'events-memory', 'events-limit'],
];

function refuse(message) {
  console.error(`${message}\nnpm run bench -- ${known.join('|')} [--option value …] [--save name]`);
  process.exit(2);
}

const [name, ...rest] = process.argv.slice(2);
if (!known.includes(name)) refuse(name === undefined ? 'Name a bench.' : `There is no bench ${name}.`);
const { run, defaults } = await import(`./${name}.mjs`);
const options = { ...defaults };
let saveAs;
for (let index = 0; index < rest.length; index += 2) {
  const [option, value] = [rest[index].replace(/^--/, ''), rest[index + 1]];
  if (value === undefined) refuse(`--${option} needs a value.`);
  if (option === 'save') saveAs = value;
  else if (option in defaults) options[option] = typeof defaults[option] === 'number' ? Number(value) : value;
  else refuse(`${name} has no option --${option}; it has ${Object.keys(defaults).join(', ')}.`);
}
await run(options);
if (saveAs !== undefined) {
  const given = rest.join(' ').replace(`--save ${saveAs}`, '').trim();
  await save(saveAs, `npm run bench -- ${name} ${given}`.trim(), options);
  writeFileSync(inRoot('docs', 'why', 'benchmarks.md'), benchmarksDoc(savedResults()));
}
process.exit(allMet() ? 0 : 1);
