/** Unsigned 32-bit hash of a text under a seed (FNV-1a, then a finisher that spreads every bit). Not for secrets. */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mix(hash, 0);
}

/** Another unsigned 32-bit number from the same hash: each `salt` gives an independent number. */
export function mix(hash: number, salt: number): number {
  let value = (hash ^ Math.imul(salt + 1, 0x9e3779b9)) >>> 0;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** A number from 0 (inclusive) to 1 (exclusive). */
export function fraction(hash: number, salt: number): number {
  return mix(hash, salt) / 0x100000000;
}

/** One element of a list, by hash. The list must not be empty. */
export function choose<T>(items: readonly T[], hash: number, salt: number): T {
  return items[mix(hash, salt) % items.length] as T;
}
