/** The largest distance between a misspelt name and a suggested name. */
const MOST_FAR = 4;

/** The largest distance at which an unknown name certainly is a misspelt one, and the shortest name for which this holds. */
const SURELY_NEAR = 2;
const LEAST_LETTERS = 5;
/** In a long name one more letter may differ, as in `additionalQuerys`. */
const MANY_LETTERS = 12;
/** The shortest name that a missing or further letter makes a misspelt one. */
const FEW_LETTERS = 3;

/**
 * Returns the known name that a name certainly means: with other separators, a missing or further letter, two exchanged ones, or one wrong
 * letter. A short name with a wrong letter may be another word, such as `last` for `fast`.
 */
export function misspelt(name: string, known: readonly string[]): string | null {
  const whole = known.find((one) => isBeginning(name, one) || singular(one) === singular(name));
  if (whole !== undefined) return whole;
  const near = nearest(name, known);
  if (near === null || sameName(near, name)) return near;
  const far = distance(name, near);
  if (far === 1 && Math.max(near.length, name.length) >= FEW_LETTERS) return near;
  const letters = Math.min(near.length, name.length);
  if (letters >= MANY_LETTERS) return far <= SURELY_NEAR + 1 ? near : null;
  return far <= SURELY_NEAR && (letters >= LEAST_LETTERS || sorted(name) === sorted(near)) ? near : null;
}

/** Whether a name is the first words of another, and at least two: `maxCost` of `maxCostDollars`. */
const isBeginning = (name: string, other: string): boolean =>
  /[a-z][A-Z]/.test(name) && other.startsWith(name) && /^[A-Z]/.test(other.slice(name.length));

const singular = (name: string): string => name.replace(/ies$/, 'y');

const sorted = (name: string): string => [...name].sort().join('');

/** Returns the known name that is closest to a misspelt name; null where no name is close. */
export function nearest(misspelt: string, known: readonly string[]): string | null {
  const same = known.find((name) => sameName(name, misspelt));
  if (same !== undefined) return same;
  const near = known
    .map((name) => ({ name, far: distance(misspelt, name) }))
    // A name that differs in every letter is no suggestion.
    .filter(({ name, far }) => far < Math.max(name.length, misspelt.length))
    .sort((a, b) => a.far - b.far)[0];
  return near && near.far <= MOST_FAR ? near.name : null;
}

/** Whether two names differ only in case and separators: `max_cost_dollars` and `maxCostDollars`. */
export function sameName(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

const plain = (name: string): string => name.replace(/[-_ ]/g, '').toLowerCase();

/**
 * Returns the number of insertions and deletions from one text to the other. A replacement counts as two, so that `KEY` is closer to
 * `API_KEY` than to `QPS`.
 */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 2);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
