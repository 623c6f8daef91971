import { z } from 'zod';
import { count, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { retryHelps } from '../../core/purchase/retry-help.js';

const retry = z.enum(retryHelps);
const rowStatus = z.enum(['success', 'error', 'invalid']);

/** The failed rows of a job. */
export const failed = z.object({
  kind: z.literal('failed'),
  job: text,
  into: text,
  rows: count,
  byTag: list(
    z.object({
      status: z.enum(['error', 'invalid']),
      ...{ tag: maybeText, rows: count, units: count, dollars: number, retry, why: text },
    }),
  ),
  listed: list(
    z.object({
      ...{ row: count.nullable(), status: rowStatus, tag: maybeText, message: maybeText },
      ...{ httpStatus: count.nullable(), unit: maybeText, input: list(maybeText) },
      ...{ attempts: count, dollars: number, dollarsAreWhole: flag, unknownDollars: number },
      ...{ requestId: maybeText, fetchedAt: maybeText, retry, why: text },
    }),
  ),
});

/** One row of a job, from its input to its warehouse. */
export const trace = z.object({
  kind: z.literal('trace'),
  job: text,
  row: count.nullable(),
  state: z.enum([
    ...(['notBought', 'inFlight', 'unknown', 'landed', 'success', 'failed', 'invalid'] as const),
    ...(['outdated', 'vanished'] as const),
  ]),
  reason: maybeText,
  jobState: z.enum(['planning', 'running', 'waiting', 'paused', 'done', 'stopped', 'failed', 'cancelled']),
  source: text,
  input: list(z.object({ column: maybeText, value: maybeText })),
  operation: text,
  unit: maybeText,
  unitKey: maybeText,
  sharedWith: z.object({ rows: count, first: list(count) }),
  slice: z.object({ number: count, segment: text, afterLimit: flag }).nullable(),
  requests: count,
  dollars: number,
  dollarsAreWhole: flag,
  unknownDollars: number,
  attempts: list(
    z.object({
      ...{ at: maybeText, endedAt: maybeText, job: text },
      outcome: z.enum(['landed', 'free', 'unknown', 'open', 'unsent']),
      ...{ requestId: maybeText, run: maybeText, reason: maybeText, units: count },
      ...{ dollars: number.nullable(), requestDollars: number },
    }),
  ),
  answer: z
    .object({
      at: maybeText,
      status: z.enum(['success', 'error']),
      ...{ tag: maybeText, bought: flag, bytes: count.nullable(), inJournal: flag },
    })
    .nullable(),
  answerText: maybeText,
  loaded: z
    .object({
      ...{ into: text, at: maybeText, slice: count, ledgerAt: maybeText, status: rowStatus, tag: maybeText },
      ...{ message: maybeText, httpStatus: count.nullable(), requestId: maybeText, fetchedAt: maybeText },
      ...{ dollars: number, outdatedAt: maybeText, vanishedAt: maybeText },
      misfits: list(z.object({ column: text, value: text, expected: text })),
    })
    .nullable(),
  published: z.object({ to: text, at: maybeText, error: maybeText, rows: count }).nullable(),
  retry: z.object({ retry, why: text }).nullable(),
  problems: list(text),
});
