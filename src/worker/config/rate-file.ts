import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { RateProfile } from '../../core/limiter/rate.js';

const bucket = z.strictObject({
  name: z.string().min(1),
  qps: z.int().min(1).max(10_000),
  classes: z.array(z.string().min(1)).min(1),
  of: z.enum(['team', 'key']).optional(),
});

const profile = z.strictObject({
  name: z.string().min(1),
  buckets: z
    .array(bucket)
    .min(1)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two buckets have the same name')
    .refine(
      (all) => all[0]?.of !== 'key',
      'the first bucket, which is used for all other classes, must belong to the team',
    ),
});

/**
 * Reads a rate profile from a JSON file: `{ "name": "ours", "buckets": [{ "name": "all", "qps": 40, "classes": ["*"] }] }`.
 * Throws an `Error` with one line that says what is wrong.
 */
export function readRateFile(path: string): RateProfile {
  const value = readJson(path);
  const problems = rateProfileProblems(value, 'the file');
  if (problems.length === 0) return value as RateProfile;
  throw new Error(`is not a rate profile: ${problems.join('; ')}`);
}

/** Reads a JSON file of a setting. Throws an `Error` that quotes neither the path nor the file, because both may hold a secret. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error('cannot be read: it is not JSON');
    // Messages of the file system have the form `ENOENT: no such file or directory, open '/path'`.
    throw new Error(`cannot be read: ${error instanceof Error ? error.message.split(', ', 1)[0] : 'unknown error'}`);
  }
}

/** Returns what is wrong with a rate profile; empty for a correct one. `whole`: the name of the value. */
export function rateProfileProblems(value: unknown, whole = 'the profile'): readonly string[] {
  const { error } = profile.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.') || whole}: ${message}`);
}
