import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MAX_RUN_SECONDS, URLS_PER_REQUEST } from '../../core/choices.js';
import { isDatabaseSource, sourceShown, whyNoSource } from '../../core/connections/source-address.js';
import type { ErrorCode } from '../../core/errors/registry.js';
import { enrichCsv, type PublishStep } from '../../core/row-job-schemas.js';
import { buysPages, type RowOperation, rowOperations } from '../../core/rows/row-operation.js';
import { isCsvDelimiter } from '../../core/rows/row-warehouse.js';
import { isAddress, isPattern, whyNoAddress } from '../../core/rows/source-fields.js';
import type { Json } from '../../core/text/json.js';
import { isSameFile } from '../../files/same-file.js';
import { absoluteTarget, whyNoPublish } from '../../worker/config/publish-step.js';
import type { EnrichRequest } from '../../worker/config/runtime-types.js';
import { intoShown } from '../../worker/config/store-setting.js';
import { readAll, readFailureLimit, readMaxCost, refuse, spelled, toCount, toDuration, wrong } from '../flag-values.js';
import {
  fieldsOf,
  objectOf,
  readEffort,
  readObject,
  type SetField,
  setTwice,
  toContentsOptions,
} from '../request-fields.js';
import type { Flags } from '../shared/command.js';

/** Largest `--limit`. */
const MOST_ROWS = 999_999_999;

/** Returns the request that argument and flags describe. Reads files, and buys nothing. */
export function toEnrichRequest(argument: string | undefined, flags: Flags<'enrich'>, cwd: string): EnrichRequest {
  const file = argument ?? flags.from ?? '';
  const read = readAll({
    delimiter: () => readDelimiter('--delimiter', flags.delimiter),
    encoding: () => readEncoding(flags.encoding),
    form: () => readCsvForm(flags),
    rows: () => toRowRequest(flags, cwd),
    batch: () => toCount(flags.batch, '--batch', URLS_PER_REQUEST),
    limit: () => toCount(flags.limit, '--limit', MOST_ROWS),
    refreshAfterMs: () => readRefreshAfter(flags.refreshAfter),
    maxCostDollars: () => readMaxCost(flags.maxCost),
    maxRunMs: () =>
      toDuration('--max-run-time', flags.maxRunTime, '30m, 6h or 1d, and at most 365d', [1, MAX_RUN_SECONDS * 1000]),
    stopAtFailed: () => readFailureLimit(flags),
    publish: () => readPublishStep(flags, cwd),
  });
  refuse(...sourceMistakes(argument, flags), ...fileMistakes(file, flags, cwd), ...read.mistakes);
  const { form, rows, batch = URLS_PER_REQUEST, maxRunMs, mistakes: _, ...values } = read;
  // Flags that have the name of a field have its value, except those that are read above.
  const same = Object.entries(flags).filter(([name]) => name in enrichCsv.shape);
  return {
    ...Object.fromEntries(same),
    input: sourceShown(file),
    key: flags.key === undefined ? undefined : [...new Set(flags.key || [])],
    into: flags.into && intoShown(flags.into),
    ...form,
    ...rows,
    ...values,
    batch,
    maxRunSeconds: maxRunMs && maxRunMs / 1000,
    rebuy: flags.rebuy,
    reparse: flags.reparse,
    acceptWarnings: flags.acceptWarning,
  };
}

/** The mistakes of the files that a command reads and writes. */
function fileMistakes(file: string, flags: Flags<'enrich'>, cwd: string): readonly string[] {
  const mistakes: string[] = [];
  const stdin = file === '-';
  const isQuery = flags.sql !== undefined || flags.table !== undefined;
  if (stdin && flags.job === undefined)
    mistakes.push('Rows from stdin have no file name. Name the job with --job NAME, the same name each time.');
  const why = stdin || file === '' || isDatabase(file) ? null : inputMistake(file, cwd);
  if (why !== null) mistakes.push(why);
  const isInput = (path: string) => !stdin && isSameFile(resolve(cwd, path), resolve(cwd, file));
  const { into, csv } = flags;
  if (into === '-') mistakes.push(`--into: '${into}' is not a file name.`);
  // A query may read the warehouse that its results are loaded into.
  else if (into !== undefined && !isQuery && isInput(into)) mistakes.push(`--into would overwrite the input ${file}.`);
  if (csv === '') mistakes.push(`--csv: '${csv}' is not a file name.`);
  else if (csv !== undefined && isInput(csv)) mistakes.push(`--csv would overwrite the input ${file}.`);
  if (csv === '-')
    mistakes.push(
      '--csv - is not possible here. Name a file, or run this afterwards:\n  searchflow export JOB --csv -',
    );
  if (into !== undefined && csv !== undefined && isSameFile(resolve(cwd, into), resolve(cwd, csv)))
    mistakes.push(`--into and --csv name the same file, ${csv}.`);
  if (flags.reparse && (flags.retryFailed || flags.redrive || flags.rebuy || flags.refreshAfter !== undefined))
    mistakes.push('--reparse buys nothing. Pass it without --retry-failed, --redrive, --rebuy and --refresh-after.');
  return mistakes;
}

/** The mistakes of the flags that say which rows are read, and how. */
function sourceMistakes(argument: string | undefined, flags: Flags<'enrich'>): readonly string[] {
  const mistakes: string[] = [];
  const { from, format, sql, table, job, delimiter, encoding } = flags;
  if (argument !== undefined && from !== undefined)
    mistakes.push('Name the file once: as the argument or with --from.');
  const file = argument ?? from ?? '';
  if (file === '') mistakes.push('Name a file of rows, such as companies.csv, or - for stdin.');
  if (sql !== undefined && table !== undefined) mistakes.push('--sql and --table exclude each other.');
  const query = sql !== undefined ? '--sql' : table === undefined ? null : '--table';
  if (sql?.trim() === '' || table === '') mistakes.push(`${query} is empty.`);
  if (query !== null && format !== undefined) mistakes.push(`--format is for files of rows, not for ${query}.`);
  if (query !== null && !isDatabase(file) && isAddress(file))
    mistakes.push(`${query} needs a DuckDB file on this machine or a PostgreSQL database, not another address.`);
  if (query !== null && file === '-') mistakes.push(`${query} needs a DuckDB file or a database, not stdin.`);
  if (isDatabaseSource(file) && sql === undefined)
    mistakes.push('A database needs --sql, one SELECT such as "SELECT id, url FROM brands".');
  if (sql !== undefined && job === undefined)
    mistakes.push('A query has no name. Name the job with --job NAME, the same name each time.');
  const isCsv = query === null && (format ?? 'csv') === 'csv';
  if (delimiter !== undefined && !isCsv) mistakes.push(`--delimiter is for CSV, not for ${query ?? format}.`);
  if (encoding !== undefined && (query !== null || format === 'parquet'))
    mistakes.push(`--encoding is for CSV and JSON Lines, not for ${query ?? format}.`);
  return mistakes;
}

/** Whether a text is the address of a database. A mistyped address is reported with the settings, without its password. */
const isDatabase = (file: string): boolean => isDatabaseSource(file) || whyNoSource(file) !== null;

/** Why an input cannot be read, in a sentence; null if it can. */
function inputMistake(file: string, cwd: string): string | null {
  if (isAddress(file)) {
    const why = whyNoAddress(file);
    return why && `${why}. Download the file first, or set the variables of AWS for s3://.`;
  }
  const path = resolve(cwd, file);
  const why = whyNoFile(file, cwd);
  if (why === 'ENOENT') return `File ${file} not found${path === file ? '' : ` (${path})`}.`;
  if (why === 'ENAMETOOLONG') return `The name of the file is too long: ${file.slice(0, SHOWN_NAME)}…`;
  return why && `File ${file} cannot be read (${why}).`;
}

/** The characters of a name that is too long for a message. */
const SHOWN_NAME = 80;

/** The system's code if an input that is a path is not there; null if it is. The files of a folder or pattern are listed when they are read. */
function whyNoFile(file: string, cwd: string): string | null {
  if (isPattern(file)) return null;
  try {
    statSync(resolve(cwd, file));
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** The error code of a command line with mistakes: a missing input is the first thing to correct. */
export function mistakesCode(source: string | undefined, cwd: string): ErrorCode {
  if (source === undefined || source === '') return 'missing-argument';
  const isPath = source !== '-' && !isAddress(source) && !isDatabase(source);
  const why = isPath ? whyNoFile(source, cwd) : null;
  return why === null ? 'invalid-argument' : why === 'ENOENT' ? 'input-missing' : 'input-unreadable';
}

/** Returns the form of a CSV that differs from that of the input. */
export function readCsvForm(flags: Pick<Flags<'enrich'>, 'csv' | 'csvDelimiter' | 'csvBom'>) {
  const { csv, csvDelimiter: text, csvBom } = flags;
  const { csvDelimiter, mistakes } = readAll({ csvDelimiter: () => readDelimiter('--csv-delimiter', text) });
  refuse(
    csv === undefined &&
      (text !== undefined || csvBom !== undefined) &&
      '--csv-delimiter and --csv-bom are for an enriched CSV. Pass --csv FILE.',
    ...mistakes,
    csvDelimiter &&
      !isCsvDelimiter(csvDelimiter) &&
      `--csv-delimiter: '${text}' must be an ASCII character, such as a semicolon, or tab.`,
  );
  return { csvDelimiter, csvBom };
}

function readDelimiter(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[text] ?? text;
  if ([...delimiter].length !== 1 || /["\r\n]/.test(delimiter))
    wrong(`${flag}: '${text}' must be one character, or tab.`);
  return delimiter;
}

function readEncoding(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return new TextDecoder(text).encoding;
  } catch {
    return wrong(`--encoding: '${text}' is unknown. Name one such as utf-8, utf-16le, windows-1252 or shift_jis.`);
  }
}

function readRefreshAfter(text: string | undefined): number | undefined {
  const ms = toDuration('--refresh-after', text, '12h, 30d or 2w');
  return ms === 0
    ? wrong(
        `--refresh-after ${text}: an interrupted job would buy its own results again. Pass a longer time, such as 1h.`,
      )
    : ms;
}

type RowRequest = Pick<EnrichRequest, 'operation' | 'template' | 'options' | 'rowsPerRun'>;

/** Flags that each operation accepts; every operation also accepts `--request` and `--option`. */
const takes: Readonly<Record<RowOperation, readonly (keyof Flags<'enrich'>)[]>> = {
  contents: ['text', 'highlights', 'summary', 'maxAgeHours', 'urlColumn', 'defaultScheme', 'batch'],
  search: ['query', 'numResults', 'schema', 'text', 'highlights', 'summary', 'maxAgeHours'],
  answer: ['query', 'schema', 'text'],
  agent: ['query', 'schema', 'effort', 'rowsPerRun'],
};
const limited = [...new Set(Object.values(takes).flat())];

/** Returns the operation, template and options that the flags describe. */
export function toRowRequest(flags: Flags<'enrich'>, cwd: string): RowRequest {
  const { op: operation = 'contents' } = flags;
  const wrong = limited
    .filter((name) => flags[name] !== undefined && !takes[operation].includes(name))
    .map((name) => {
      const takers = rowOperations.filter((one) => takes[one].includes(name));
      return `${spelled(name)} is for --op ${takers.join(', ')}, not for ${operation}.`;
    });
  if (buysPages(operation)) {
    const { options, mistakes } = readAll({ options: () => toContentsOptions(flags) });
    if (flags.request !== undefined)
      mistakes.unshift('--request is not for --op contents. Name another operation with --op.');
    refuse(...wrong, ...mistakes);
    return { options };
  }
  const { request, rowsPerRun, mistakes } = readAll({
    request: () => readRequest(flags, operation, cwd),
    rowsPerRun: () => toCount(flags.rowsPerRun, '--rows-per-run', 100),
  });
  refuse(...wrong, ...mistakes);
  return { operation, ...request, rowsPerRun };
}

/** Returns the fields of the request that flags set. Fields that are rendered for each row are not included: the template has them. */
function readRequest(flags: Flags<'enrich'>, operation: RowOperation, cwd: string) {
  const { option, ...pages } = flags;
  const { file, schema, effort, numResults, contents, others, mistakes } = readAll({
    file: () => (flags.request === undefined ? {} : readObject('--request', flags.request, cwd)),
    schema: () => (flags.schema === undefined ? undefined : readObject('--schema', flags.schema, cwd)),
    effort: () => readEffort(flags.effort, flags.unchecked),
    numResults: () => toCount(flags.numResults, '--num-results', 9999),
    contents: () => toContentsOptions(pages),
    others: () => toContentsOptions({ option }),
  });
  if (flags.query === undefined && flags.request === undefined)
    mistakes.push(`${operation} needs --query TEMPLATE, such as "{{name}} official site", or --request FILE.`);
  const more = fieldsOf(others, (name) => `--option ${name}`);
  const isRendered = ([, value]: SetField) => /\{[{%]/.test(JSON.stringify(value));
  const rendered: readonly SetField[] = [
    ...fieldsOf(file, () => '--request'),
    ['query', flags.query, '--query'],
    ...more.filter(isRendered),
  ];
  // The pages of a search have options of their own; an answer has only their texts.
  const ofPages: SetField = takes[operation].includes('highlights')
    ? ['contents', Object.keys(contents ?? {}).length > 0 ? (contents as Json) : undefined, '--text']
    : ['text', contents?.text as Json | undefined, '--text'];
  const shared: readonly SetField[] = [
    ['outputSchema', schema, '--schema'],
    ['effort', effort, '--effort'],
    ['numResults', numResults, '--num-results'],
    ofPages,
    ...more.filter((field) => !isRendered(field)),
  ];
  refuse(...setTwice([...rendered, ...shared]), ...mistakes);
  return {
    template: rendered.some(([, value]) => value !== undefined) ? objectOf(rendered) : undefined,
    options: objectOf(shared),
  };
}

/** Returns the publish at the end of a run, or undefined without `--publish`. */
export function readPublishStep(
  { publish, publishMode: mode, publishKey: key, publishPartition: partition }: Flags<'agentRows'>,
  cwd: string,
): PublishStep | undefined {
  if (publish === undefined) {
    if (mode !== undefined || key !== undefined || partition !== undefined)
      wrong('--publish-mode, --publish-key and --publish-partition need --publish TARGET.');
    return undefined;
  }
  const step = { to: absoluteTarget(publish, cwd), mode, key, partition };
  const why = whyNoPublish(step);
  if (why !== null) wrong(`--publish: ${why}.`);
  return step;
}
