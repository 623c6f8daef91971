import { commandErrors } from './entries/command-errors.js';
import { databaseErrors } from './entries/database-errors.js';
import { inputErrors } from './entries/input-errors.js';
import { jobErrors } from './entries/job-errors.js';
import { moneyErrors } from './entries/money-errors.js';
import { publishErrors } from './entries/publish-errors.js';
import { serviceErrors } from './entries/service-errors.js';
import { sourceErrors } from './entries/source-errors.js';
import { stateErrors } from './entries/state-errors.js';
import { temporalErrors } from './entries/temporal-errors.js';
import { unexpectedErrors } from './entries/unexpected-errors.js';
import { walkErrors } from './entries/walk-errors.js';
import { warehouseErrors } from './entries/warehouse-errors.js';
import type { ErrorEntry } from './entry.js';

const entries = {
  ...commandErrors,
  ...inputErrors,
  ...sourceErrors,
  ...serviceErrors,
  ...moneyErrors,
  ...jobErrors,
  ...warehouseErrors,
  ...publishErrors,
  ...databaseErrors,
  ...temporalErrors,
  ...stateErrors,
  ...walkErrors,
  ...unexpectedErrors,
};

/**
 * The code of an error: one for each thing that a person has to do. Scripts rely on these codes: a code is never renamed, and its meaning
 * never changes.
 */
export type ErrorCode = keyof typeof entries;

/** The entry of each code. Only the texts are here, so an error needs only the type of its code. */
export const errorEntries: Readonly<Record<ErrorCode, ErrorEntry>> = entries;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(entries, code);

/** The groups of `docs/errors.md` and `searchflow explain`, with their codes. */
export const errorGroups: readonly (readonly [title: string, codes: readonly ErrorCode[]])[] = (
  [
    ['Command line and settings', commandErrors],
    ['Files and rows', inputErrors],
    ['Sources and SQL', sourceErrors],
    ['Service and key', serviceErrors],
    ['Money', moneyErrors],
    ['Jobs and schedules', jobErrors],
    ['Warehouse', warehouseErrors],
    ['Publish', publishErrors],
    ['PostgreSQL', databaseErrors],
    ['Temporal and workers', temporalErrors],
    ['State folder', stateErrors],
    ['Events, monitors, alerts and webhooks', walkErrors],
    ['Unexpected errors', unexpectedErrors],
  ] as const
).map(([title, group]) => [title, Object.keys(group) as ErrorCode[]]);
