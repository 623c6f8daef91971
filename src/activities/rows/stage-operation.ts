import { misspeltFields, WAY_PAST } from '../../api/checks/misspelt-fields.js';
import { contentsEndpoint } from '../../api/endpoints/contents.js';
import { openHeaderProblems } from '../../api/request.js';
import type { Transport } from '../../api/transport.js';
import { ApiError } from '../../api/wire/errors.js';
import type { SentWith } from '../../core/base-schemas.js';
import { whyTooLarge } from '../../core/check-value.js';
import { DEFAULT_OPERATION, URLS_PER_REQUEST } from '../../core/choices.js';
import { UsageError } from '../../core/errors/coded-error.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { sendOptions, sentWith } from '../../core/purchase/sent-with.js';
import type { Sha256 } from '../../core/purchase/unit-key.js';
import type { EnrichCsvInput } from '../../core/row-job-schemas.js';
import {
  buysPages,
  isLongRunning,
  ROW_ID_FIELD,
  ROWS_FIELD,
  type RowOperation,
} from '../../core/rows/row-operation.js';
import type { Json } from '../../core/text/json.js';
import type { SliceSizes, UnitCheck, UnitSource } from '../../rows/index.js';
import { contentsKeys } from './contents-purchase.js';
import { rowKinds, rowRequests } from './row-requests.js';

/**
 * Least number of rows of a small slice of contents, because each slice has a fixed cost. A slice has at least as many rows as requests may
 * be in flight: at a high rate a slice would otherwise end within a second.
 */
const SMALL_CONTENTS = 100;
/**
 * Rows of a large slice of contents: a hundred requests, but at most as many rows as fill a row group of a DuckDB file, which is then written
 * once. So at ten requests per second a slice takes at most ten seconds, except for requests of few URLs.
 */
const LARGE_CONTENTS = { requests: 100, least: 1000, most: 4096 };
const REQUESTS_PER_SMALL_SLICE = 2;
/** Rows of a slice if each row is a request. Large answers get fewer rows, because a slice is loaded as a whole. */
const WHOLE_REQUESTS_PER_SLICE = { large: 1000, small: 100 };
const LARGE_ANSWERS_PER_SLICE = { large: 250, small: 100 };
/** Number of runs at the service in a slice; each run takes minutes. Each slice in progress costs a heartbeat every few seconds. */
const RUNS_PER_SLICE = 50;
/**
 * Number of slices in progress at once, for a long-running operation. So many slices fill fifty slots even if most runs of each slice have
 * ended.
 */
const LONG_RUNNING_WINDOW = 4;
const MAX_ROWS_PER_RUN = 100;
/** Largest request of the rows: each activity of the job gets it. A schema at its limit and the other fields fit. */
const MOST_REQUEST_KB = 272;

/** Stands for the URL of a row in checks of the other fields. */
const EXAMPLE_URL = 'https://example.com/';

type Fields = { readonly [name: string]: Json };

const refused = (why: string, options?: ErrorOptions) => new UsageError('request-invalid', why, options);

export interface OperationStage {
  readonly units: UnitSource;
  readonly keyOf: (unit: string) => string;
  readonly rowsPerSlice: SliceSizes;
  /** Returns the number of slices in progress at once. */
  window(rowsPerSlice: number): number;
  /** Fields of the staged job. */
  readonly facts: Pick<
    StagedJob,
    'operation' | 'options' | 'template' | 'rowsPerRun' | keyof SentWith | 'batch' | 'defaultScheme'
  >;
}

interface Context {
  readonly origin: string;
  readonly sha256: Sha256;
  /** Number of the job's paid requests in flight at once. */
  readonly concurrency: number;
  readonly transport: Pick<Transport, 'check' | 'unchecked'>;
}

type RowsRequest = Omit<EnrichCsvInput, 'input'>;

/**
 * How the rows are staged. `keptColumn`: the URL column of the job's last run, which is used if the input names none. Throws for a request
 * that the service would refuse for every row, before a row is read.
 */
export function stageOperation(context: Context, asked: RowsRequest, keptColumn: string | null = null): OperationStage {
  const unchecked = (asked.unchecked ?? context.transport.unchecked) || undefined;
  const request = { ...asked, unchecked };
  const large = whyTooLarge([request.options, request.template], MOST_REQUEST_KB);
  if (large !== null) throw refused(`The request of the rows ${large}.`);
  checkRowsPerRun(request);
  return buysPages(request.operation ?? DEFAULT_OPERATION)
    ? stageContents(context, request, keptColumn)
    : stageRequests(context, request);
}

function stageContents(
  { origin, sha256, concurrency, transport }: Context,
  request: RowsRequest,
  keptColumn: string | null,
): OperationStage {
  const { template, operation = DEFAULT_OPERATION } = request;
  const batch = request.batch ?? URLS_PER_REQUEST;
  if (template !== undefined) throw refused(`The operation ${operation} takes a URL column and no template.`);
  const given = request.options ?? {};
  const options = Object.keys(given).length > 0 ? given : { text: true };
  refuseOtherFields(operation, options, request);
  asUsageError(() => transport.check(contentsEndpoint, { ...options, urls: [EXAMPLE_URL] }, sentWith(request)));
  return {
    units: { kind: 'url', column: request.urlColumn ?? null, kept: keptColumn, ...schemeOf(request) },
    keyOf: contentsKeys({ origin, sha256 }, options, sendOptions(request)),
    rowsPerSlice: contentsSizes(batch, concurrency),
    window: (rows) => fill(concurrency, Math.ceil(rows / batch)),
    facts: { operation, options, batch, ...sentWith(request), ...schemeOf(request) },
  };
}

function contentsSizes(batch: number, concurrency: number): SliceSizes {
  const { requests, least, most } = LARGE_CONTENTS;
  // Each slice but the last is a number of whole requests.
  const whole = (rows: number) => Math.ceil(rows / batch) * batch;
  return {
    large: whole(Math.min(most, Math.max(least, requests * batch))),
    small: whole(Math.max(SMALL_CONTENTS, REQUESTS_PER_SMALL_SLICE * batch, concurrency)),
  };
}

function schemeOf({ defaultScheme = 'none' }: RowsRequest): Pick<StagedJob, 'defaultScheme'> {
  return defaultScheme === 'none' ? {} : { defaultScheme };
}

function stageRequests({ origin, sha256, concurrency, transport }: Context, request: RowsRequest): OperationStage {
  const { operation = DEFAULT_OPERATION, rowsPerRun = 1 } = request;
  const sharesRuns = rowsPerRun > 1;
  const { template, options } = splitRequest(request);
  if (template === null && !sharesRuns) {
    throw new UsageError(
      'row-template-constant',
      `${operation}: the request names no column, so every row would send the same request. Name a column in double braces, such as {{name}}.`,
    );
  }
  refuseOtherFields(operation, { ...options, ...(template as Fields | null) }, request);
  const facts = {
    operation,
    options: sharesRuns ? forRows(options) : options,
    template: template ?? undefined,
    rowsPerRun: sharesRuns ? rowsPerRun : undefined,
    ...sentWith(request),
    batch: 1,
  };
  const requests = rowRequests({ origin, sha256 }, facts);
  if (requests === null) throw refused(`The operation ${operation} is not available for rows.`);
  const check: UnitCheck = (unit) =>
    asUsageError(() => {
      try {
        requests.check(transport, unit);
        return null;
      } catch (error) {
        // A mistake in a field that no row fills in concerns all rows, so the command is refused.
        const field = error instanceof ApiError ? /^\w+/.exec(error.field ?? '')?.[0] : undefined;
        if (field === undefined || !(field in ((template as object | null) ?? { input: true }))) throw error;
        return (error as ApiError).message;
      }
    });
  const row = sharesRuns ? rowTemplate(template) : null;
  // The fields that all rows share are checked before a row is read; the rows decide about the others.
  check(JSON.stringify(sharesRuns ? { input: { data: [row ?? {}] } } : template));
  const rows = isLongRunning(operation) ? RUNS_PER_SLICE * rowsPerRun : null;
  return {
    units: sharesRuns ? { kind: 'rows', row, rowsPerRun, check } : { kind: 'template', template, check },
    keyOf: requests.keyOf,
    rowsPerSlice: rows === null ? sizesOf(options, concurrency) : { large: rows, small: rows },
    window: (perSlice) => (rows === null ? fill(concurrency, perSlice) : LONG_RUNNING_WINDOW),
    facts,
  };
}

/** Turns the refusal of a request that was not sent into a `UsageError`: the options or the template are wrong. */
function asUsageError<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    const isRefused = error instanceof ApiError && error.facts.phase === 'refused';
    throw isRefused ? refused(error.message, { cause: error }) : error;
  }
}

/**
 * Refuses misspelt fields and values, and fields that only other operations have: the service would ignore them, and each row would be
 * bought without their effect. Others may be new ones of the service, and are sent.
 */
function refuseOtherFields(operation: RowOperation, fields: Fields, request: RowsRequest): void {
  const wrongHeaders = openHeaderProblems(request.extraHeaders);
  if (wrongHeaders.length > 0) throw refused(wrongHeaders.join(' '));
  const pages = ['urls', 'url', 'ids'].find((name) => buysPages(operation) && name in fields);
  if (pages !== undefined)
    throw refused(`${pages}: the URLs of ${operation} come from the rows of the file. Remove it from the options.`);
  if (request.unchecked) return;
  const named = Object.entries(rowKinds).map(([name, { endpoint }]) => ({ ...endpoint, name }));
  const wrong = misspeltFields({ ...rowKinds[operation].endpoint, name: operation }, fields, named);
  if (wrong.length > 0) throw refused(`${wrong.map(({ message }) => message).join(' ')} ${WAY_PAST}`);
}

/** Sizes of slices: answers with page contents are large. */
function sizesOf({ contents, text }: Fields, concurrency: number): SliceSizes {
  const { large, small } =
    contents === undefined && text === undefined ? WHOLE_REQUESTS_PER_SLICE : LARGE_ANSWERS_PER_SLICE;
  return { large, small: Math.min(large, Math.max(small, concurrency)) };
}

function fill(concurrency: number, requestsPerSlice: number): number {
  return Math.ceil(concurrency / Math.max(1, requestsPerSlice)) + 2;
}

function checkRowsPerRun({ operation, rowsPerRun = 1 }: RowsRequest): void {
  if (rowsPerRun !== 1 && !isLongRunning(operation ?? DEFAULT_OPERATION))
    throw refused('Only agent runs can share a request between rows.');
  if (!Number.isInteger(rowsPerRun) || rowsPerRun < 1 || rowsPerRun > MAX_ROWS_PER_RUN)
    throw refused(`Rows per run must be a whole number from 1 to ${MAX_ROWS_PER_RUN} (got ${rowsPerRun}).`);
}

/** Splits a request into the fields to render for each row (null without any) and those that all rows share. */
function splitRequest(request: RowsRequest): { template: Json | null; options: Fields } {
  const { template } = request;
  const options = request.options ?? {};
  if (template === undefined) return { template: null, options };
  if (typeof template !== 'object' || template === null || Array.isArray(template))
    throw refused('The template of a request must be a JSON object, such as {"query": "{{name}} official site"}.');
  const both = Object.keys(template).filter((name) => name in options);
  if (both.length > 0) throw refused(`${both.join(', ')}: set both in the template and in the options. Set it once.`);
  const parts = Object.entries(template).map((field) => ({ field, rendered: /\{[{%]/.test(JSON.stringify(field[1])) }));
  const fieldsOf = (wanted: boolean) =>
    Object.fromEntries(parts.filter(({ rendered }) => rendered === wanted).map(({ field }) => field));
  const rendered = fieldsOf(true);
  return {
    template: Object.keys(rendered).length > 0 ? rendered : null,
    options: { ...options, ...fieldsOf(false) },
  };
}

/** The template of each row of a shared run: the only object in the list `input.data`. Null: a row is sent with all its cells. */
function rowTemplate(template: Json | null): Json | null {
  if (template === null) return null;
  const { input, ...others } = template as Fields;
  const { data, ...rest } = (input ?? {}) as Fields;
  const [row, ...more] = Array.isArray(data) ? (data as readonly Json[]) : [];
  const plain = Object.keys(others).length === 0 && Object.keys(rest).length === 0 && more.length === 0;
  if (plain && typeof row === 'object' && row !== null && !Array.isArray(row)) return row;
  throw refused(
    'With several rows per run the query cannot name columns. Each row is sent whole, or as the single object in input.data describes.',
  );
}

/** The options of a run for several rows: the output schema of one row becomes the schema of a list of rows, each with its id. */
function forRows(options: Fields): Fields {
  const { outputSchema } = options;
  if (outputSchema === undefined) return options;
  const { properties, required, ...rest } = outputSchema as { properties?: Fields; required?: readonly string[] };
  const id = {
    type: 'string',
    description: `The ${ROW_ID_FIELD} of the row of input.data that this object is about, copied as it is.`,
  };
  const items = {
    ...rest,
    type: 'object',
    properties: { [ROW_ID_FIELD]: id, ...properties },
    required: [ROW_ID_FIELD, ...(required ?? [])],
  };
  return {
    ...options,
    outputSchema: {
      type: 'object',
      properties: {
        [ROWS_FIELD]: { type: 'array', items, description: 'One object for each row of input.data, in their order.' },
      },
      required: [ROWS_FIELD],
    },
  };
}
