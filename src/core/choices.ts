/** Values that fields of inputs may have, and their bounds. */

/** How published rows change the rows of a target. */
export const publishModes = ['replace', 'append', 'merge'] as const;
export type PublishMode = (typeof publishModes)[number];

export const publishPartitions = ['run', 'day'] as const;
export type PublishPartition = (typeof publishPartitions)[number];

/** How URLs without a scheme are completed; `none`: such URLs are refused. */
export const defaultSchemes = ['https', 'http', 'none'] as const;

/** Formats of files of rows. `jsonl`: JSON Lines, or one list of objects. */
export const fileFormats = ['csv', 'jsonl', 'parquet'] as const;
export type FileFormat = (typeof fileFormats)[number];

/** The largest value of `StopAtFailed.after`. */
export const MOST_STOP_AFTER = 1_000_000_000;

/** A year, in seconds: no run of the service lasts that long. */
export const MAX_RUN_SECONDS = 31_536_000;
/** 24 days, in seconds: timers of the worker cannot be longer. */
export const MAX_DURATION_SECONDS = 2_073_600;

/**
 * Maximum number of windows of one walk in progress at once. Each window has one request in flight, and a worker has at most 256 requests
 * in flight.
 */
export const MOST_PARALLEL = 256;

/** The action of a batch on each matching monitor (API reference: /monitors). */
export const monitorActions = ['pause', 'unpause', 'delete'] as const;
export type MonitorAction = (typeof monitorActions)[number];
export const MAX_BATCH_LIMIT = 500;

/** The most URLs of one request of contents (API reference: /contents). */
export const URLS_PER_REQUEST = 100;

/** Type of the failure where a cap allows not even one more unit, and tag of the rows that it does not allow. */
export const BUDGET_EXCEEDED = 'BudgetExceeded';

/** The operation of rows of a request that names none. */
export const DEFAULT_OPERATION = 'contents';

/** What the segments of calls of `enrichRows` begin with in the record. */
export const ROWS_PREFIX = 'rows-';
