import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonObject } from '../../core/base-schemas.js';
import { DEFAULT_OPERATION, URLS_PER_REQUEST } from '../../core/choices.js';
import { isDatabaseSource, sourceShown, whyNoSource } from '../../core/connections/source-address.js';
import type { ErrorCode } from '../../core/errors/registry.js';
import { enrichCsv, type PublishStep } from '../../core/row-job-schemas.js';
import { buysPages, operationFacts, type RowOperation, rowOperations } from '../../core/rows/row-operation.js';
import { isAddress, isPattern, whyNoAddress } from '../../core/rows/source-fields.js';
import type { Json } from '../../core/text/json.js';
import { isSameFile } from '../../files/same-file.js';
import { absoluteTarget, whyNoPublish } from '../../worker/config/publish-step.js';
import type { EnrichRequest } from '../../worker/config/runtime-types.js';
import { intoShown } from '../../worker/config/warehouse-setting.js';
import { failureLimit, readAll, refuse, spelled, wrong } from '../flag-values.js';
import { nameOf } from '../readers.js';
import { contentsFlags, objectOf, ofRequest, readEffort, type SetField, setTwice } from '../request-fields.js';
import type { Flags } from '../shared/command.js';

/** Returns the request that argument and flags describe. Buys nothing. */
export function toEnrichRequest(argument: string | undefined, flags: Flags<'enrich'>, cwd: string): EnrichRequest {
  const file = argument ?? flags.from ?? '';
  const { rows, stopAtFailed, publish, mistakes } = readAll({
    rows: () => toRowRequest(flags),
    stopAtFailed: () => failureLimit(flags),
    publish: () => readPublishStep(flags, cwd),
  });
  refuse(...sourceMistakes(argument, flags), ...fileMistakes(file, flags, cwd), ...mistakes);
  // A flag sets the field of its name.
  const same = Object.entries(flags).filter(([name]) => name in enrichCsv.shape);
  return {
    ...Object.fromEntries(same),
    input: sourceShown(file),
    key: flags.key === false ? [] : flags.key,
    into: flags.into && intoShown(flags.into),
    ...rows,
    batch: flags.batch ?? URLS_PER_REQUEST,
    stopAtFailed,
    publish,
    rebuy: flags.rebuy,
    reparse: flags.reparse,
  };
}

type Mistakes = readonly (string | false | null | undefined)[];

function fileMistakes(file: string, { job, into, csv, sql, table }: Flags<'enrich'>, cwd: string): Mistakes {
  const stdin = file === '-';
  const isInput = (path: string | undefined) =>
    path !== undefined && !stdin && isSameFile(resolve(cwd, path), resolve(cwd, file));
  // A query may read the warehouse that its results are loaded into.
  const isQuery = sql !== undefined || table !== undefined;
  return [
    stdin &&
      job === undefined &&
      'Rows from stdin have no file name. Name the job with --job NAME, the same name each time.',
    stdin || file === '' || isDatabase(file) ? null : inputMistake(file, cwd),
    into === '-' && "--into: '-' is not a file name.",
    !isQuery && isInput(into) && `--into would overwrite the input ${file}.`,
    isInput(csv) && `--csv would overwrite the input ${file}.`,
    csv === '-' &&
      '--csv - is not possible here. Name a file, or run this afterwards:\n  searchflow export JOB --csv -',
    into !== undefined &&
      csv !== undefined &&
      isSameFile(resolve(cwd, into), resolve(cwd, csv)) &&
      `--into and --csv name the same file, ${csv}.`,
  ];
}

function sourceMistakes(argument: string | undefined, flags: Flags<'enrich'>): Mistakes {
  const { from, format, sql, table, delimiter, encoding } = flags;
  const file = argument ?? from ?? '';
  const query = sql !== undefined ? '--sql' : table !== undefined && '--table';
  return [
    argument !== undefined && from !== undefined && 'Name the file once: as the argument or with --from.',
    file === '' && 'Name a file of rows, such as companies.csv, or - for stdin.',
    query &&
      !isDatabase(file) &&
      isAddress(file) &&
      `${query} needs a DuckDB file on this machine or a PostgreSQL database, not another address.`,
    query && file === '-' && `${query} needs a DuckDB file or a database, not stdin.`,
    isDatabaseSource(file) &&
      sql === undefined &&
      'A database needs --sql, one SELECT such as "SELECT id, url FROM brands".',
    delimiter !== undefined && (format ?? 'csv') !== 'csv' && `--delimiter is for CSV, not for ${format}.`,
    encoding !== undefined && format === 'parquet' && '--encoding is for CSV and JSON Lines.',
  ];
}

/** Whether a text is the address of a database. A mistyped address is reported with the settings, without its password. */
const isDatabase = (file: string): boolean => isDatabaseSource(file) || whyNoSource(file) !== null;

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

type RowRequest = Pick<EnrichRequest, 'operation' | 'template' | 'options' | 'rowsPerRun'>;

type Names = readonly (keyof Flags<'enrich'>)[];
const contentsNames = Object.keys(contentsFlags).map(nameOf) as Names;

/** Whether a request has all options of contents. An answer has only texts of pages. */
const hasContents = (operation: RowOperation): boolean => operationFacts(operation).flags.includes('highlights');

/** The flags that an operation accepts, and others may not. */
const flagsOf = (operation: RowOperation): Names =>
  [hasContents(operation) ? contentsNames : [], operationFacts(operation).flags as Names].flat();

export function toRowRequest(flags: Flags<'enrich'>): RowRequest {
  const { operation = DEFAULT_OPERATION } = flags;
  const wrong = [...new Set(rowOperations.flatMap(flagsOf))]
    .filter((name) => flags[name] !== undefined && !flagsOf(operation).includes(name))
    .map((name) => {
      const takers = rowOperations.filter((one) => flagsOf(one).includes(name));
      return `${spelled(name)} is for --op ${takers.join(', ')}, not for ${operation}.`;
    });
  if (!buysPages(operation)) {
    const { request, mistakes } = readAll({ request: () => readRequest(flags, operation) });
    refuse(...wrong, ...mistakes);
    return { operation, ...request, rowsPerRun: flags.rowsPerRun };
  }
  const { options, mistakes } = readAll({ options: () => toContentsOptions(flags) });
  refuse(
    ...wrong,
    flags.request !== undefined && '--request is not for --op contents. Name another operation with --op.',
    ...mistakes,
  );
  return { options };
}

/** Returns the contents options that the flags describe. They are checked against the contract later, before anything is sent. */
export function toContentsOptions(flags: Flags<'enrich'>): JsonObject {
  const fields: readonly SetField[] = [
    ...contentsNames.map((name): SetField => [name, flags[name] as Json | undefined, spelled(name)]),
    ...(flags.option ?? []),
  ];
  refuse(...setTwice(fields));
  return objectOf(fields);
}

/** Returns the fields of the request that flags set. Fields that are rendered for each row are not included: the template has them. */
function readRequest({ option, ...flags }: Flags<'enrich'>, operation: RowOperation) {
  const { effort, contents, mistakes } = readAll({
    effort: () => readEffort(flags.effort, flags.unchecked),
    contents: () => toContentsOptions(flags),
  });
  const isRendered = ([, value]: SetField) => /\{[{%]/.test(JSON.stringify(value));
  const rendered: readonly SetField[] = [
    ...ofRequest(flags.request),
    ['query', flags.query, '--query'],
    ...(option ?? []).filter(isRendered),
  ];
  const ofPages: SetField = hasContents(operation)
    ? ['contents', Object.keys(contents ?? {}).length > 0 ? (contents as Json) : undefined, '--text']
    : ['text', contents?.text as Json | undefined, '--text'];
  const shared: readonly SetField[] = [
    ['outputSchema', flags.schema, '--schema'],
    ['effort', effort, '--effort'],
    ['numResults', flags.numResults, '--num-results'],
    ofPages,
    ...(option ?? []).filter((field) => !isRendered(field)),
  ];
  refuse(
    ...setTwice([...rendered, ...shared]),
    ...mistakes,
    flags.query === undefined &&
      flags.request === undefined &&
      `${operation} needs --query TEMPLATE, such as "{{name}} official site", or --request FILE.`,
  );
  return {
    template: rendered.some(([, value]) => value !== undefined) ? objectOf(rendered) : undefined,
    options: objectOf(shared),
  };
}

export function readPublishStep(
  { publish, publishMode: mode, publishKey: key, publishPartition: partition }: Flags<'agent rows'>,
  cwd: string,
): PublishStep | undefined {
  if (publish === undefined) return undefined;
  const step = { to: absoluteTarget(publish, cwd), mode, key, partition };
  const why = whyNoPublish(step);
  if (why !== null) wrong(`--publish: ${why}.`);
  return step;
}
