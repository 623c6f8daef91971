// The figures of one bench: printed when they are measured, and saved as bench/results/NAME.json with `--save NAME`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { findTemporalBinary } from '../dist/worker/temporal-server/binary.js';
import { root } from './measure.mjs';

const bars = [];
const rows = [];
const versions = {};

const tests = {
  '>=': (value, wanted) => value >= wanted,
  '<=': (value, wanted) => value <= wanted,
  '=': (value, wanted) => value === wanted,
};

/** Prints and records a figure beside its bar, such as `>= 0.5`, and whether it is met. */
export function bar(name, value, wanted) {
  const [sign, number] = wanted.split(' ');
  const met = tests[sign](value, Number(number));
  console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${value.toFixed(3)} (bar: ${wanted})`);
  bars.push({ name, value: rounded(value), wanted, met });
}

/** Prints and records a row of the table of figures: an object with the same keys as the other rows. */
export function row(figures) {
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${rounded(value)}`);
  console.log(shown.join(', '));
  rows.push(figures);
}

/** Records the version of a program beside those of Node, Temporal and DuckDB. */
export function version(name, text) {
  versions[name] = text;
}

export const allMet = () => bars.every(({ met }) => met);

/** Writes what was recorded to bench/results. */
export async function save(name, command, options) {
  const result = {
    command,
    date: new Date().toISOString().slice(0, 10),
    hardware: { cores: cpus().length, memoryGib: Math.round(totalmem() / 2 ** 30), os: type() },
    versions: { ...(await ownVersions()), ...versions },
    options,
    bars,
    columns: Object.keys(rows[0] ?? {}),
    rows: rows.map((figures) => Object.values(figures).map(rounded)),
  };
  mkdirSync(join(root, 'bench', 'results'), { recursive: true });
  writeFileSync(join(root, 'bench', 'results', `${name}.json`), textOf(result));
}

const rounded = (value) =>
  typeof value !== 'number' || Number.isInteger(value) ? value : Number(value.toPrecision(4));

/** JSON with a line for each bar and row. */
function textOf(result) {
  const lines = (value) => `[\n${value.map((one) => `    ${JSON.stringify(one)}`).join(',\n')}\n  ]`;
  const entries = Object.entries(result).map(([key, value]) => {
    const isList = Array.isArray(value) && typeof value[0] === 'object';
    return `  ${JSON.stringify(key)}: ${isList ? lines(value) : JSON.stringify(value)}`;
  });
  return `{\n${entries.join(',\n')}\n}\n`;
}

/** Version of an installed package. */
export const installed = (name) => versionIn(join(root, 'node_modules', name, 'package.json'));

const versionIn = (file) => JSON.parse(readFileSync(file, 'utf8')).version;

async function ownVersions() {
  const temporal = await findTemporalBinary({ env: process.env, say: () => undefined });
  return {
    searchflow: versionIn(join(root, 'package.json')),
    node: process.versions.node,
    '@temporalio/worker': installed('@temporalio/worker'),
    'Temporal CLI': temporal.version.replace('temporal version ', ''),
    '@duckdb/node-api': installed('@duckdb/node-api'),
  };
}
