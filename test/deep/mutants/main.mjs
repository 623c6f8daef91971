// npm run mutants -- core                            every mutant of failure, walk and limiter, with the unit tests
// npm run mutants -- sample [--seed 1 --count 300]   some mutants of purchase and journal, with the contract tests
//
// A mutant is the source with one small change. Tests that do not detect it would not detect such a mistake, either. Prints a table
// and all survivors; ends with 1 if a group is below the bar. One mutant at a time, at low priority.
//   --file NAME   only files whose path holds NAME
//   --resume      only mutants without a result: continues an interrupted run
//   --again       only mutants without a result or that survived: after the missing tests were written
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../support/postgres-server.mjs';
import { keyOf, mutantsOf, sampleOf } from './chosen.mjs';
import { BAR, core, sample } from './plan.mjs';
import { stryker } from './stryker.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const out = join(root, '.test-results', 'mutants');
const say = (sentence) => process.stderr.write(`${sentence}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '300' },
    file: { type: 'string', default: '' },
    resume: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
});
const [kind] = positionals;
const groups = { core, sample }[kind];
const [seed, count] = [Number(values.seed), Number(values.count)];
if (!groups || positionals.length > 1 || !Number.isInteger(seed) || !(Number.isInteger(count) && count > 0)) {
  say('Usage: npm run mutants -- core|sample [--seed 1] [--count 300] [--file NAME] [--resume] [--again]');
  process.exit(2);
}

process.chdir(root);
mkdirSync(out, { recursive: true });
setPriority(15);
const addressOf = stryker(root, say);
const all = await mutantsOf(
  root,
  Object.values(groups).flatMap(({ files }) => files),
  addressOf,
);
const selected = (kind === 'sample' ? sampleOf(all, count, seed) : all).filter(({ file }) =>
  file.includes(values.file),
);
say(`${selected.length} of ${all.length} mutants${kind === 'sample' ? `, seed ${seed}` : ''}.`);

const started = Date.now();
/** Results of the mutants, by key. */
const statuses = new Map();
const ownPostgres = process.env.TEST_POSTGRES_URL;
const postgres = kind === 'sample' && ownPostgres === undefined ? await startPostgres() : null;
try {
  process.env.MUTANTS_POSTGRES = postgres?.urlOf('postgres') ?? ownPostgres ?? '';
  for (const [name, group] of Object.entries(groups)) await run(name, group);
} finally {
  await postgres?.stop();
}
report();
say(`${((Date.now() - started) / 60_000).toFixed(1)} minutes.`);

/** Runs Stryker over the chosen mutants of a group that have no valid result yet. */
async function run(name, { files, tests }) {
  const mine = selected.filter(({ file }) => files.includes(file));
  const log = join(out, `${name}.jsonl`);
  const keep = {
    again: ['killed', 'timeout', 'error'],
    resume: ['killed', 'timeout', 'error', 'survived', 'nocoverage'],
  };
  const kept = values.again ? keep.again : values.resume ? keep.resume : [];
  const known = new Map(kept.length > 0 && existsSync(log) ? linesOf(log).map((line) => [line.key, line]) : []);
  const old = [...known.values()].filter(({ status }) => kept.includes(status));
  for (const { key, status } of old) statuses.set(key, status);
  const left = mine.filter(({ key }) => !statuses.has(key));
  if (left.length === 0) return;
  writeFileSync(log, old.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const chosen = join(out, `${name}.chosen.json`);
  writeFileSync(chosen, JSON.stringify(left.map(({ key }) => key)));
  Object.assign(process.env, {
    MUTANTS_ROOT: root,
    MUTANTS_CHOSEN: chosen,
    MUTANTS_LOG: log,
    MUTANTS_TESTS: JSON.stringify(tests),
    MUTANTS_VITEST_RUNNER: addressOf('vitest-runner/dist/src/index.js'),
  });
  say(`${name}: ${left.length} to go. Each one that ends is a line of ${relative(root, log)}.`);
  const { Stryker } = await import(addressOf('core/dist/src/index.js'));
  const found = await new Stryker({
    plugins: [fileURLToPath(new URL('runner.mjs', import.meta.url))],
    testRunner: 'chosen',
    vitest: { configFile: 'test/deep/mutants/vitest.config.mjs', related: false },
    mutate: files.filter((file) => left.some((one) => one.file === file)),
    // Stryker would read the TypeScript configuration with an API that TypeScript 7 no longer has. It skips a file that does not exist.
    tsconfigFile: 'none.json',
    ignorePatterns: ['dist', 'out', '.test-results', '.searchflow'],
    tempDirName: '.test-results/stryker',
    cleanTempDir: 'always',
    concurrency: 1,
    // A timeout counts as killed, so the limit is generous: a slow machine must not cause one.
    timeoutFactor: 2,
    timeoutMS: 30_000,
    dryRunTimeoutMinutes: 15,
    reporters: ['progress-append-only'],
    logLevel: 'warn',
    allowConsoleColors: false,
    warnings: false,
  }).runMutationTest();
  // The runner records the results of mutants that it ran to the end. Stryker alone knows the mutants that no test reaches, and those that
  // ended the runner.
  const noted = new Map(linesOf(log).map(({ key, status }) => [key, status]));
  const wanted = new Set(left.map(({ key }) => key));
  for (const one of found) {
    const { start, end } = one.location;
    const location = { start: fromZero(start), end: fromZero(end) };
    const key = keyOf({ ...one, location, file: relative(root, resolve(one.fileName)) });
    if (!wanted.has(key)) continue;
    const status = noted.get(key) ?? one.status.toLowerCase();
    statuses.set(key, status);
    if (!noted.has(key)) appendFileSync(log, `${JSON.stringify({ key, status })}\n`);
  }
}

/** Converts a position of Stryker's results, which count from one, into a position of its mutants, which count from zero. */
function fromZero({ line, column }) {
  return { line: line - 1, column: column - 1 };
}

function linesOf(file) {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** Prints the results of the mutants and sets the exit code. */
function report() {
  const tables = Object.entries(groups).map(([name, { files }]) => {
    const rows = files.map((file) => sumOf(file, (one) => one.file === file)).filter(({ mutants }) => mutants > 0);
    return { rows, whole: sumOf(`all of ${name}`, (one) => files.includes(one.file)) };
  });
  const rows = tables.flatMap(({ rows, whole }) => (rows.length > 0 ? [...rows, whole] : []));
  if (kind === 'sample') rows.push(sumOf('all', () => true));
  const width = Math.max(...rows.map(({ name }) => name.length));
  const line = (name, cells) => `${name.padEnd(width)}${cells.map((cell) => String(cell).padStart(10)).join('')}\n`;
  let text = line('file', ['mutants', 'killed', 'survived', 'timeout', '%']);
  for (const { name, mutants, killed, alive, timeout, part } of rows)
    text += line(name, [mutants, killed, alive, timeout, (100 * part).toFixed(1)]);
  const alive = selected.filter(survived).map(describe);
  process.stdout.write(`${text}${alive.length > 0 ? '\n' : ''}${alive.join('')}`);
  const missed = tables.map(({ whole }) => whole).filter(({ mutants, part }) => mutants > 0 && part < BAR);
  if (missed.length === 0) return;
  say(`Below ${100 * BAR} %: ${missed.map(({ name }) => name).join(', ')}.`);
  process.exitCode = 1;
}

/** Counts the results of the mutants that match. A mutant that makes the whole run fail counts as killed, as `vitest run` would fail. */
function sumOf(name, matches) {
  const found = selected.filter(matches);
  const alive = found.filter(survived).length;
  const timeout = found.filter(({ key }) => statuses.get(key) === 'timeout').length;
  const mutants = found.length;
  return { name, mutants, killed: mutants - alive - timeout, alive, timeout, part: (mutants - alive) / mutants };
}

function survived({ key }) {
  return ['survived', 'nocoverage', undefined].includes(statuses.get(key));
}

/** A line about a mutant: position, original and replacement. */
function describe({ file, location: { start, end }, mutatorName, replacement, key }) {
  const lines = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .slice(start.line, end.line + 1);
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column);
  lines[0] = lines[0].slice(start.column);
  const short = (text) => {
    const flat = text.replaceAll(/\s+/g, ' ');
    return flat.length > 80 ? `${flat.slice(0, 60)} … ${flat.slice(-17)}` : flat;
  };
  const unreached = statuses.get(key) === 'nocoverage' ? ' (no test gets there)' : '';
  const position = `${file}:${start.line + 1}:${start.column + 1}`;
  return `${position} ${mutatorName}${unreached}: ${short(lines.join('\n'))} → ${short(replacement)}\n`;
}
