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
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  const read = profile.safeParse(value);
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path: at, message }) => `${at.join('.') || 'the file'}: ${message}`);
  throw new Error(`is not a rate profile: ${problems.join('; ')}`);
}
