import { basename, dirname, join, resolve } from 'node:path';
import { DEFAULT_OPERATION } from '../../core/choices.js';
import { foreignScheme } from '../../core/connections/address-secrets.js';
import { isDatabaseSource, sourceShown } from '../../core/connections/source-address.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { EnrichCsvInput } from '../../core/row-job-schemas.js';
import { isAddress, isPattern, pathOfAddress, whyNoPath } from '../../core/rows/source-fields.js';
import { canonicalJson } from '../../core/text/json.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import type { DatabaseAddress } from '../config/database-setting.js';
import { UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { warehouseOf } from '../config/warehouse-setting.js';

/**
 * The id of a job, such as `brands-3f9a1c`, with the parts that the id is made of: operation, input (or `--job`), warehouse and origin.
 * Throws `UsageError` if the input is standard input and `--job` is missing.
 */
export function identify(
  context: { readonly cwd: string; readonly origin: string; readonly warehouse?: DatabaseAddress | null },
  request: Pick<EnrichCsvInput, 'input' | 'job' | 'into' | 'operation' | 'sql' | 'table'>,
): Pick<StagedJob, 'job' | 'name' | 'input' | 'into'> {
  const { job = null } = request;
  if (request.input === '-' && job === null) {
    throw new UsageError('job-name-missing', 'A job that reads standard input needs a name. Pass --job NAME');
  }
  if (request.sql !== undefined && job === null)
    throw new UsageError(
      'job-name-missing',
      'A job that reads a query needs a name. Pass --job NAME, the same name each time',
    );
  if (job !== null && (foreignScheme(job) !== null || whyNoPath(job, 'linux') !== null))
    throw new UsageError('invalid-argument', 'The name of the job (not shown) is an address. Pass --job NAME');
  const isPath = request.input !== '-' && !isDatabaseSource(request.input) && !isAddress(request.input);
  const input = isPath ? resolve(context.cwd, request.input) : sourceShown(request.input);
  const name =
    job ?? request.table ?? nameOf(input).replace(/(\.(csv|tsv|txt|jsonl|ndjson|json|parquet|pq|duckdb|gz))+$/i, '');
  const into = warehouseOf(context, request.into, join('out', `${safe(name)}.duckdb`), context.cwd);
  // The id of a named job does not depend on its operation, so that another operation under the same name is noticed.
  const [operation, source] =
    job === null
      ? [request.operation ?? DEFAULT_OPERATION, request.table === undefined ? input : `${input} ${request.table}`]
      : [DEFAULT_OPERATION, `job ${name}`];
  const what = canonicalJson([operation, source, warehouseIdentity(into), context.origin]);
  return { job: `${safe(name)}-${sha256(what).slice(0, 6)}`, name, input, into };
}

/** The name of a file or folder; of a pattern such as `data/*.csv` the name of its folder, unless its file name has letters. */
function nameOf(input: string): string {
  const path = isAddress(input) ? pathOfAddress(input) : input;
  const stem = basename(path).replace(/\.[^.]*$/, '');
  return isPattern(stem) && !/\w/.test(stem) ? basename(dirname(path)) : basename(path);
}

/** A name without characters that paths and ids cannot hold. */
function safe(name: string): string {
  return (
    name
      .replace(/[^\w-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'job'
  );
}
