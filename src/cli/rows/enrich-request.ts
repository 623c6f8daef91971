import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MAX_RUN_SECONDS } from '../../core/choices.js';
import { isDatabaseSource, sourceShown, whyNoSource } from '../../core/connections/source-address.js';
import type { ErrorCode } from '../../core/errors/registry.js';
import { enrichCsv, type PublishStep } from '../../core/row-job-schemas.js';
import { type RowOperation, rowOperations } from '../../core/rows/row-operation.js';
import { isCsvDelimiter } from '../../core/rows/row-warehouse.js';
import { isAddress, isPattern, whyNoAddress } from '../../core/rows/source-fields.js';
import type { Json } from '../../core/text/json.js';
import { isSameFile } from '../../files/same-file.js';
import { absoluteTarget, whyNoPublish } from '../../worker/config/publish-step.js';
import type { EnrichRequest } from '../../worker/config/runtime-types.js';
import { intoShown } from '../../worker/config/store-setting.js';
import { parseDuration, readFailureLimit, readMaxCost, spelled, toCount } from '../flag-values.js';
import { checkEffort, readObject, setOnce, toContentsOptions } from '../request-fields.js';
import type { Flags } from '../shared/command.js';

/** Maximum number of URLs in one request. */
const MAX_BATCH = 100;

/**
 * Returns the request that argument and flags describe; adds a sentence to `mistakes` for each invalid flag or argument.
 * Reads files, and buys nothing.
 */
export function toEnrichRequest(
  argument: string | undefined,
  flags: Flags<'enrich'>,
  cwd: string,
  mistakes: string[],
): EnrichRequest {
  const file = readSource(argument, flags, mistakes);
  const stdin = file === '-';
  const isQuery = flags.sql !== undefined || flags.table !== undefined;
  if (stdin && flags.job === undefined) {
    mistakes.push('Rows from stdin have no file name. Name the job with --job NAME, the same name each time.');
  }
  if (!stdin && file !== '' && !isDatabase(file)) checkInput(file, cwd, mistakes);
  for (const [flag, path] of [
    ['--into', flags.into],
    ['--csv', flags.csv],
  ] as const) {
    if (path === undefined) continue;
    if (flag === '--into' ? path === '-' : path === '') mistakes.push(`${flag}: '${path}' is not a file name.`);
    // A query may read the warehouse that its results are loaded into.
    else if (flag === '--into' && isQuery) continue;
    else if (!stdin && isSameFile(resolve(cwd, path), resolve(cwd, file)))
      mistakes.push(`${flag} would overwrite the input ${file}.`);
  }
  if (flags.csv === '-')
    mistakes.push(
      '--csv - is not possible here. Name a file, or run this afterwards:\n  searchflow export JOB --csv -',
    );
  if (
    flags.into !== undefined &&
    flags.csv !== undefined &&
    isSameFile(resolve(cwd, flags.into), resolve(cwd, flags.csv))
  ) {
    mistakes.push(`--into and --csv name the same file, ${flags.csv}.`);
  }
  if (flags.reparse && (flags.retryFailed || flags.redrive || flags.rebuy || flags.refreshAfter !== undefined))
    mistakes.push('--reparse buys nothing. Pass it without --retry-failed, --redrive, --rebuy and --refresh-after.');
  // Flags that have the name of a field have its value, except those that are read below.
  const same = Object.entries(flags).filter(([name]) => name in enrichCsv.shape);
  return {
    ...Object.fromEntries(same),
    input: sourceShown(file),
    delimiter: readDelimiter('--delimiter', flags.delimiter, mistakes),
    encoding: readEncoding(flags.encoding, mistakes),
    key: flags.key === undefined ? undefined : [...new Set(flags.key || [])],
    into: flags.into && intoShown(flags.into),
    ...readCsvForm(flags, mistakes),
    ...toRowRequest(flags, cwd, mistakes),
    batch: toCount(flags.batch, '--batch', MAX_BATCH, mistakes) ?? MAX_BATCH,
    limit: readLimit(flags.limit, mistakes),
    refreshAfterMs: readRefreshAfter(flags.refreshAfter, mistakes),
    rebuy: flags.rebuy,
    reparse: flags.reparse,
    maxCostDollars: readMaxCost(flags.maxCost, mistakes),
    maxRunSeconds: readMaxRunTime(flags.maxRunTime, mistakes),
    stopAtFailed: readFailureLimit(flags, mistakes),
    acceptWarnings: flags.acceptWarning,
    publish: readPublishStep(flags, cwd, mistakes),
  };
}

/** Returns the file that argument or `--from` names, and checks the flags that say how it is read. */
function readSource(argument: string | undefined, flags: Flags<'enrich'>, mistakes: string[]): string {
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
  return file;
}

/** Whether a text is the address of a database. A mistyped address is reported with the settings, without its password. */
const isDatabase = (file: string): boolean => isDatabaseSource(file) || whyNoSource(file) !== null;

function checkInput(file: string, cwd: string, mistakes: string[]): void {
  if (isAddress(file)) {
    const why = whyNoAddress(file);
    if (why !== null) mistakes.push(`${why}. Download the file first, or set the variables of AWS for s3://.`);
    return;
  }
  const path = resolve(cwd, file);
  const why = whyNoFile(file, cwd);
  if (why === 'ENOENT') mistakes.push(`File ${file} not found${path === file ? '' : ` (${path})`}.`);
  else if (why === 'ENAMETOOLONG') mistakes.push(`The name of the file is too long: ${file.slice(0, SHOWN_NAME)}…`);
  else if (why !== null) mistakes.push(`File ${file} cannot be read (${why}).`);
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

/** Returns the form of a CSV that differs from that of the input; adds a sentence to `mistakes` for each invalid flag. */
export function readCsvForm(
  { csv, csvDelimiter: text, csvBom }: Pick<Flags<'enrich'>, 'csv' | 'csvDelimiter' | 'csvBom'>,
  mistakes: string[],
): Pick<EnrichRequest, 'csvDelimiter' | 'csvBom'> {
  if (csv === undefined && (text !== undefined || csvBom !== undefined))
    mistakes.push('--csv-delimiter and --csv-bom are for an enriched CSV. Pass --csv FILE.');
  const delimiter = readDelimiter('--csv-delimiter', text, mistakes);
  if (delimiter !== undefined && !isCsvDelimiter(delimiter))
    mistakes.push(`--csv-delimiter: '${text}' must be an ASCII character, such as a semicolon, or tab.`);
  return { csvDelimiter: delimiter, csvBom };
}

function readDelimiter(flag: string, text: string | undefined, mistakes: string[]): string | undefined {
  if (text === undefined) return undefined;
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[text] ?? text;
  if ([...delimiter].length === 1 && !/["\r\n]/.test(delimiter)) return delimiter;
  mistakes.push(`${flag}: '${text}' must be one character, or tab.`);
  return undefined;
}

function readEncoding(text: string | undefined, mistakes: string[]): string | undefined {
  if (text === undefined) return undefined;
  try {
    return new TextDecoder(text).encoding;
  } catch {
    mistakes.push(`--encoding: '${text}' is unknown. Name one such as utf-8, utf-16le, windows-1252 or shift_jis.`);
    return undefined;
  }
}

function readLimit(text: string | undefined, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1) return Number(text);
  mistakes.push(`--limit: '${text}' must be a whole number of rows, 1 or more.`);
  return undefined;
}

function readMaxRunTime(text: string | undefined, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== null && ms > 0 && ms <= MAX_RUN_SECONDS * 1000) return ms / 1000;
  mistakes.push(`--max-run-time: '${text}' must be a duration such as 30m, 6h or 1d, and at most 365d.`);
  return undefined;
}

function readRefreshAfter(text: string | undefined, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === null) mistakes.push(`--refresh-after: '${text}' must be a duration such as 12h, 30d or 2w.`);
  else if (ms === 0)
    mistakes.push(
      `--refresh-after ${text}: an interrupted job would buy its own results again. Pass a longer time, such as 1h.`,
    );
  return ms ?? undefined;
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

/** Returns the operation, template and options that the flags describe; adds a sentence to `mistakes` for each invalid flag. */
export function toRowRequest(flags: Flags<'enrich'>, cwd: string, mistakes: string[]): RowRequest {
  const { op: operation = 'contents' } = flags;
  for (const name of limited) {
    if (flags[name] === undefined || takes[operation].includes(name)) continue;
    const takers = rowOperations.filter((one) => takes[one].includes(name));
    mistakes.push(`${spelled(name)} is for --op ${takers.join(', ')}, not for ${operation}.`);
  }
  if (operation === 'contents') {
    if (flags.request !== undefined)
      mistakes.push('--request is not for --op contents. Name another operation with --op.');
    return { options: toContentsOptions(flags, mistakes) };
  }
  const request = readRequest(flags, operation, cwd, mistakes);
  const rowsPerRun = toCount(flags.rowsPerRun, '--rows-per-run', 100, mistakes);
  return { operation, ...request, rowsPerRun };
}

/** Returns the fields of the request that flags set. Fields that are rendered for each row are not included: the template has them. */
function readRequest(flags: Flags<'enrich'>, operation: RowOperation, cwd: string, mistakes: string[]) {
  const [template, options] = [new Map<string, Json>(), new Map<string, Json>()];
  const setters = new Map<string, string>();
  const put = (name: string, value: Json, flag: string, rendered: boolean) => {
    setOnce(setters, name, flag, mistakes);
    (rendered ? template : options).set(name, value);
  };
  const file = flags.request === undefined ? null : readObject('--request', flags.request, cwd, mistakes);
  for (const [name, value] of Object.entries(file ?? {})) put(name, value, '--request', true);
  if (flags.query !== undefined) put('query', flags.query, '--query', true);
  else if (flags.request === undefined) {
    mistakes.push(`${operation} needs --query TEMPLATE, such as "{{name}} official site", or --request FILE.`);
  }
  const schema = flags.schema === undefined ? null : readObject('--schema', flags.schema, cwd, mistakes);
  if (schema !== null) put('outputSchema', schema, '--schema', false);
  checkEffort(flags.effort, flags.unchecked, mistakes);
  if (flags.effort !== undefined) put('effort', flags.effort, '--effort', false);
  const numResults = toCount(flags.numResults, '--num-results', 9999, mistakes);
  if (numResults !== undefined) put('numResults', numResults, '--num-results', false);
  const { option, ...pages } = flags;
  const contents = toContentsOptions(pages, mistakes);
  if (operation === 'answer' && contents.text) put('text', true, '--text', false);
  else if (Object.keys(contents).length > 0) put('contents', contents, '--text', false);
  for (const [name, value] of Object.entries(toContentsOptions(option ? { option } : {}, mistakes))) {
    put(name, value, `--option ${name}`, /\{[{%]/.test(JSON.stringify(value)));
  }
  return {
    template: template.size > 0 ? Object.fromEntries(template) : undefined,
    options: Object.fromEntries(options),
  };
}

/** Returns the publish at the end of a run, or undefined without `--publish`; adds a sentence to `mistakes` for invalid flags. */
export function readPublishStep(
  { publish, publishMode: mode, publishKey: key, publishPartition: partition }: Flags<'agentRows'>,
  cwd: string,
  mistakes: string[],
): PublishStep | undefined {
  if (publish === undefined) {
    if (mode !== undefined || key !== undefined || partition !== undefined)
      mistakes.push('--publish-mode, --publish-key and --publish-partition need --publish TARGET.');
    return undefined;
  }
  const step = { to: absoluteTarget(publish, cwd), mode, key, partition };
  const why = whyNoPublish(step);
  if (why === null) return step;
  mistakes.push(`--publish: ${why}.`);
  return undefined;
}
