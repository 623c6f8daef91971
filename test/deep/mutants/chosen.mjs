// The list of mutants, and a seeded sample of them.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The name of a mutant: its file in the repository, its position and its replacement. */
export function keyOf({ file, location: { start, end }, mutatorName, replacement }) {
  return JSON.stringify([file, start.line, start.column, end.line, end.column, mutatorName, replacement]);
}

/** All mutants of the files, in the order of their positions. */
export async function mutantsOf(root, files, addressOf) {
  const { Instrumenter } = await import(addressOf('instrumenter/dist/src/index.js'));
  const silent = { isDebugEnabled: () => false, debug() {}, info() {}, warn() {} };
  const sources = files.map((file) => {
    return { name: resolve(root, file), mutate: true, content: readFileSync(resolve(root, file), 'utf8') };
  });
  const options = { plugins: null, excludedMutations: [], ignorers: [] };
  const { mutants } = await new Instrumenter(silent).instrument(sources, options);
  return mutants.map((mutant) => {
    const file = files.find((one) => resolve(root, one) === mutant.fileName);
    return { ...mutant, file, key: keyOf({ ...mutant, file }) };
  });
}

/** A sample of this many mutants; the same seed gives the same sample. */
export function sampleOf(list, count, seed) {
  const random = mulberry32(seed);
  const left = [...list];
  for (let at = 0; at < Math.min(count, left.length); at++) {
    const other = at + Math.floor(random() * (left.length - at));
    [left[at], left[other]] = [left[other], left[at]];
  }
  return left.slice(0, count);
}

function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
