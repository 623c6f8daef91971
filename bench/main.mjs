#!/usr/bin/env node
// npm run bench -- enrich|memory|rate|limits|events|agents|actions|growth [options]. Each prints figures and ends with exit code 1 if a
// bar is missed.
const [name, ...rest] = process.argv.slice(2);
const known = ['enrich', 'memory', 'rate', 'limits', 'events', 'agents', 'actions', 'growth'];
if (!known.includes(name)) {
  console.error(`npm run bench -- ${known.join('|')} [--option value …]`);
  process.exit(2);
}
const options = {};
for (let index = 0; index < rest.length; index += 2) options[rest[index].replace(/^--/, '')] = rest[index + 1];
const { run } = await import(`./${name}.mjs`);
process.exit((await run(options)) ? 0 : 1);
