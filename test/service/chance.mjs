// Pseudo-random numbers that are the same on every run.

/** A number from 0 to 2^32 that depends only on the given number. */
export function mix(number) {
  let hash = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number from 0 to 2^32 that depends only on the given text. */
export function hashOf(text) {
  let hash = 2166136261;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
  return mix(hash);
}

/** A generator of numbers from 0 to 1. */
export function seeded(seed) {
  let state = mix(seed);
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
