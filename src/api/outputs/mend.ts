import { z } from 'zod';
import { count, flag, list, maybeText, text } from '../../core/base-schemas.js';

/** Output of `clean`. */
export const cleaned = z.object({
  kind: z.literal('cleaned'),
  dryRun: flag,
  folder: text,
  bytes: count,
  before: count,
  after: count,
  items: list(z.object({ what: z.enum(['stages', 'answers', 'drafts', 'logs']), job: maybeText, bytes: count })),
  notes: list(text),
});

/** Output of `discard`. */
export const discarded = z.object({
  kind: z.literal('discarded'),
  job: text,
  name: text,
  undo: flag,
  rows: count,
  discarded: count,
  failed: count,
});

/** Output of `forget`. `plan`: nothing was removed, because of `--dry-run` or because nothing is left. */
export const forgotten = z.object({
  kind: z.literal('forgotten'),
  state: z.enum(['plan', 'done']),
  job: maybeText,
  url: maybeText,
  jobs: list(text),
  units: count,
  rows: count,
  warehouses: list(z.object({ into: text, rows: count })),
  stagedRows: count,
  slices: count,
  bodies: count,
  bytes: count,
  csvs: list(text),
  targets: list(text),
  notes: list(text),
});
