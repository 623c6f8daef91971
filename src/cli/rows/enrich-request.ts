import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MAX_RUN_SECONDS } from '../../core/runs/agent-run.js';
import { isSameFile } from '../../files/same-file.js';
import type { EnrichRequest } from '../../worker/config/runtime-types.js';
import { intoShown } from '../../worker/config/store-setting.js';
import { parseDuration } from '../options/duration-option.js';
import { type FailureLimitFlags, readFailureLimit } from '../options/failure-limit-option.js';
import { readMaxCost } from '../options/max-cost-option.js';
import { type RowRequestFlags, toRowRequest } from './row-request.js';

/** Flags of `searchflow enrich`. */
export interface EnrichFlags extends RowRequestFlags, FailureLimitFlags {
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly job?: string;
  readonly into?: string;
  readonly csv?: string;
  readonly refreshAfter?: string;
  readonly retryFailed?: boolean;
  readonly rebuy?: boolean;
  readonly skipRefused?: boolean;
  readonly reparse?: boolean;
  readonly maxCost?: string;
  readonly maxRunTime?: string;
  readonly limit?: string;
}

/** Maximum number of URLs in one request. */
const MAX_BATCH = 100;

/**
 * Returns the request that argument and flags describe; adds a sentence to `mistakes` for each invalid flag or argument.
 * Reads files, and buys nothing.
 */
export function toEnrichRequest(file: string, flags: EnrichFlags, cwd: string, mistakes: string[]): EnrichRequest {
  const stdin = file === '-';
  if (stdin && flags.job === undefined) {
    mistakes.push('Rows from stdin have no file name. Name the job with --job NAME, the same name each time.');
  }
  if (!stdin) checkInput(file, cwd, mistakes);
  for (const [flag, path] of [
    ['--into', flags.into],
    ['--csv', flags.csv],
  ] as const) {
    if (path === undefined) continue;
    if (flag === '--into' ? path === '-' : path === '') mistakes.push(`${flag}: '${path}' is not a file name.`);
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
  if (flags.reparse && (flags.retryFailed || flags.rebuy || flags.refreshAfter !== undefined))
    mistakes.push('--reparse buys nothing. Pass it without --retry-failed, --rebuy and --refresh-after.');
  const maxCostDollars = readMaxCost(flags.maxCost, mistakes);
  const stopAtFailed = readFailureLimit(flags, mistakes);
  return {
    input: file,
    urlColumn: flags.urlColumn ?? null,
    defaultScheme: flags.defaultScheme,
    delimiter: flags.delimiter === undefined ? null : readDelimiter(flags.delimiter, mistakes),
    ...readEncoding(flags.encoding, mistakes),
    job: flags.job ?? null,
    into: flags.into === undefined ? null : intoShown(flags.into),
    csv: flags.csv ?? null,
    ...toRowRequest(flags, cwd, mistakes),
    batch: readBatch(flags.batch, mistakes),
    ...readLimit(flags.limit, mistakes),
    refreshAfterMs: readRefreshAfter(flags.refreshAfter, mistakes),
    retryFailed: flags.retryFailed ?? false,
    rebuy: flags.rebuy ?? false,
    ...(flags.reparse ? { reparse: true } : {}),
    maxCostDollars,
    ...readMaxRunTime(flags.maxRunTime, mistakes),
    ...(flags.skipRefused ? { skipRefused: true } : {}),
    ...(stopAtFailed ? { stopAtFailed } : {}),
  };
}

function checkInput(file: string, cwd: string, mistakes: string[]): void {
  const path = resolve(cwd, file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) mistakes.push(`File ${file} not found${path === file ? '' : ` (${path})`}.`);
  else if (found.isDirectory()) mistakes.push(`${file} is a folder, not a CSV file.`);
}

function readDelimiter(text: string, mistakes: string[]): string | null {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[text] ?? text;
  if ([...delimiter].length === 1 && !/["\r\n]/.test(delimiter)) return delimiter;
  mistakes.push(`--delimiter: '${text}' must be one character, or tab.`);
  return null;
}

function readEncoding(text: string | undefined, mistakes: string[]): Pick<EnrichRequest, 'encoding'> {
  if (text === undefined) return {};
  try {
    return { encoding: new TextDecoder(text).encoding };
  } catch {
    mistakes.push(`--encoding: '${text}' is unknown. Name one such as utf-8, utf-16le, windows-1252 or shift_jis.`);
    return {};
  }
}

function readBatch(text: string | undefined, mistakes: string[]): number {
  if (text === undefined) return MAX_BATCH;
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_BATCH) return Number(text);
  mistakes.push(`--batch: '${text}' must be a whole number from 1 to ${MAX_BATCH}.`);
  return MAX_BATCH;
}

function readLimit(text: string | undefined, mistakes: string[]): Pick<EnrichRequest, 'limit'> {
  if (text === undefined) return {};
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1) return { limit: Number(text) };
  mistakes.push(`--limit: '${text}' must be a whole number of rows, 1 or more.`);
  return {};
}

function readMaxRunTime(text: string | undefined, mistakes: string[]): Pick<EnrichRequest, 'maxRunSeconds'> {
  if (text === undefined) return {};
  const ms = parseDuration(text);
  if (ms !== null && ms > 0 && ms <= MAX_RUN_SECONDS * 1000) return { maxRunSeconds: ms / 1000 };
  mistakes.push(
    `--max-run-time: '${text}' must be a duration such as 30m, 6h or 1d, of at most 365d: no run lasts that long.`,
  );
  return {};
}

function readRefreshAfter(text: string | undefined, mistakes: string[]): number | null {
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms === null) mistakes.push(`--refresh-after: '${text}' must be a duration such as 12h, 30d or 2w.`);
  else if (ms === 0)
    mistakes.push(
      `--refresh-after ${text}: an interrupted job would buy its own results again. Pass a longer time, such as 1h.`,
    );
  return ms;
}
