import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { stageOperation } from '../../activities/rows/stage-operation.js';
import type { Transport } from '../../api/transport.js';
import type { SentWith } from '../../core/base-schemas.js';
import { DEFAULT_OPERATION } from '../../core/choices.js';
import { isDatabaseSource, whyNoSource } from '../../core/connections/source-address.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { badRowKey } from '../../core/purchase/forgotten.js';
import type { EnrichCsvInput, Freshness, RunBounds } from '../../core/row-job-schemas.js';
import { boundsOf } from '../../core/rows/job.js';
import { stagesOf } from '../../core/rows/job-entries.js';
import { type CsvForm, isCsvDelimiter, usualCsv } from '../../core/rows/row-warehouse.js';
import { sinkOf } from '../../core/rows/sink.js';
import { isAddress, pathOfAddress, sourceFieldsOf } from '../../core/rows/source-fields.js';
import { canonicalJson } from '../../core/text/json.js';
import { makeFolder } from '../../files/make-folder.js';
import { isAlive } from '../../files/process-identity.js';
import { moveDurably, syncFolder } from '../../files/write-durably.js';
import {
  CsvError,
  InputUnsteady,
  type SliceSizes,
  type StageManifest,
  stageRows,
  templateOf,
} from '../../rows/index.js';
import { sourceReader } from '../../sources/isolated-reader.js';
import { warehouseFile, whyNoTarget } from '../../warehouse/index.js';
import { sourceUrl } from '../config/database-setting.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { hostField, whyUnwritable } from '../config/warehouse-setting.js';
import type { Store } from '../store/store.js';
import { identify, refuseOtherUse } from './find-job.js';

/** Number of older stages that are kept, because a current run may still read them. */
const KEEP_GENERATIONS = 3;

export interface StageContext
  extends Pick<RuntimeConfig, 'stateDir' | 'origin' | 'concurrency' | 'warehouse' | 'source' | 'duckDbExtensions'> {
  readonly cwd: string;
  readonly transport: Pick<Transport, 'check' | 'unchecked'>;
  /** The entries of all jobs; absent: none. */
  jobs?(): Promise<readonly JobEntry[]>;
  /** The keys of the units and bad rows whose data a person removed; absent: none. */
  forgotten?(): Promise<ReadonlySet<string>>;
  /** Throws if one of the files of a folder or pattern must not be read; absent: all may be read. */
  readonly checkFiles?: ((files: readonly string[]) => Promise<void>) | undefined;
  /** Whether workers on other machines use the same store. */
  readonly shared: boolean;
  readonly signal?: AbortSignal | undefined;
}

export const stagingIn = (config: RuntimeConfig, store: Store, transport: StageContext['transport']): StageContext => ({
  ...{ ...config, shared: store.shared, cwd: process.cwd(), transport },
  jobs: () => store.entries.all(),
  forgotten: async () => (await store.journal()).forgetting.forgotten(),
});

export interface Staging {
  readonly staged: StagedJob;
  readonly manifest: StageManifest;
  /** The request with the options that it keeps from the job's last run. */
  readonly request: EnrichCsvInput;
  readonly before: JobEntry | null;
}

const isDiskFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(String((error as NodeJS.ErrnoException).code));

/** Stagings of a job within this time, in ms, that ended their process, after which another is refused. */
const MOST_DEADLY = 5;
const DEADLY_MS = 3_600_000;

const drafts = new Set<string>();

/** Reads, checks and slices the input of a job. Throws for invalid options and files, before anything is bought. */
export async function stageEnrichment(context: StageContext, asked: EnrichCsvInput): Promise<Staging> {
  try {
    return await stage(context, asked);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new InputUnsteady(
      'disk-full',
      `The disk of ${context.stateDir} is full: free some space, then run the command again. Nothing was bought`,
    );
  }
}

async function stage(context: StageContext, asked: EnrichCsvInput): Promise<Staging> {
  const { operation = DEFAULT_OPERATION } = asked;
  const jobs = (await context.jobs?.()) ?? [];
  const foreign = whyNoSource(asked.input);
  if (foreign !== null) throw new UsageError('source-options-wrong', `The input (not shown) ${foreign}.`);
  const identity = identify(context, asked);
  refuseOtherUse({ ...identity, ...sourceFieldsOf(asked), origin: context.origin, operation }, asked.job != null, jobs);
  const before = jobs.find(({ staged }) => staged.job === identity.job) ?? null;
  const request = keeping(asked, before?.staged);
  const keptColumn = before?.staged.operation === operation ? before.staged.unitColumn : null;
  const how = stageOperation({ ...context, sha256 }, request, keptColumn);
  const refused = await whyPathsRefused(context, request);
  if (refused !== null) throw new UsageError('output-path-unusable', refused);
  const forgotten = (await context.forgotten?.()) ?? new Set<string>();
  const isForgotten = (key: string | null, hash: string) =>
    forgotten.size > 0 && forgotten.has(key ?? badRowKey(sha256, identity.job, hash));
  const stages = join(context.stateDir, 'stages', identity.job);
  makeFolder(stages);
  refuseDeadly(stages, pathOfAddress(identity.input));
  const draft = join(stages, `draft-${process.pid}-${randomUUID()}`);
  const scratch = `${draft}.scratch`;
  const isStream = request.input === '-';
  const key: { readonly key?: readonly string[] } = request.key?.length ? { key: request.key } : {};
  const stageAs = async (rowsPerSlice: SliceSizes) => {
    const { units, keyOf } = how;
    rmSync(draft, { recursive: true, force: true });
    makeFolder(scratch);
    const isDatabase = isDatabaseSource(identity.input);
    const source = {
      ...sourceFieldsOf(request),
      input: isDatabase ? sourceUrl(context, identity.input) : identity.input,
      isKeyed: key.key !== undefined,
      stdin: process.stdin,
      delimiter: request.delimiter ?? null,
      encoding: request.encoding,
      checkFiles: context.checkFiles,
      extensions: context.duckDbExtensions,
      scratch,
    };
    // The query of an address may be a secret.
    const named = isStream || isAddress(identity.input) || isDatabase ? null : basename(identity.input);
    return stageRows({
      reader: sourceReader(source, templateOf(units), process.env),
      units,
      ...key,
      keyOf,
      isForgotten,
      sha256,
      rowsPerSlice,
      outDir: draft,
      signal: context.signal,
      // A table of a job may become empty. A new job without rows is more likely a mistake.
      mayBeEmpty: before !== null,
    }).catch((error: unknown) => {
      throw named === null ? error : withName(error, named);
    });
  };
  drafts.add(basename(draft));
  try {
    // A stream can be read only once, so its slices get the size of the last stage.
    let manifest = await stageAs(isStream && before ? sameSize(before.staged.rowsPerSlice) : how.rowsPerSlice);
    const { operation: _, options, batch, ...operationFacts } = how.facts;
    const others = { ...operationFacts, encoding: request.encoding || undefined, ...key };
    const factsOf = ({ contentHash, unitColumn }: StageManifest) =>
      [operation, contentHash, options, unitColumn, request.delimiter ?? null, batch, others] as const;
    let known = stagedBefore(factsOf(manifest), before);
    if (known && known.rowsPerSlice !== manifest.rowsPerSlice) {
      manifest = await stageAs(sameSize(known.rowsPerSlice));
      // A table of a database may have changed in between.
      known = stagedBefore(factsOf(manifest), before);
      if (known?.rowsPerSlice !== manifest.rowsPerSlice) known = null;
    }
    const generation = known?.generation ?? generationOf([...factsOf(manifest), manifest.rowsPerSlice]);
    const stageDir = join(stages, generation);
    await moveWhole(draft, stageDir);
    return {
      manifest,
      request,
      before,
      staged: {
        ...identity,
        origin: context.origin,
        ...how.facts,
        csvForm: csvFormOf(request, manifest),
        columns: manifest.columns,
        types: manifest.types,
        ...sourceFieldsOf(request),
        unitColumn: manifest.unitColumn,
        ...key,
        generation,
        rows: manifest.rows,
        badRows: manifest.badRows,
        distinctUnits: manifest.distinctUnits,
        slices: manifest.slices,
        rowsPerSlice: manifest.rowsPerSlice,
        limit: request.limit !== undefined && request.limit < manifest.rows ? request.limit : undefined,
        window: how.window(manifest.rowsPerSlice),
        stageDir,
        ...hostField(identity.into, context.shared),
      },
    };
  } finally {
    drafts.delete(basename(draft));
    for (const folder of [draft, scratch]) rmSync(folder, { recursive: true, force: true });
    // A refused input leaves no empty folder.
    for (const folder of [stages, dirname(stages)]) await rmdir(folder).catch(() => undefined);
  }
}

/** Throws `CsvError` if the staging of a job has ended its process too often: Temporal would try it without end. */
function refuseDeadly(stages: string, input: string): void {
  const dead = readdirSync(stages).filter((name) => {
    const pid = /^draft-(\d+)-[\da-f-]{36}\.scratch$/.exec(name)?.[1];
    if (pid === undefined || drafts.has(name.replace('.scratch', ''))) return false;
    return (
      statSync(join(stages, name)).mtimeMs > Date.now() - DEADLY_MS &&
      (Number(pid) === process.pid || !isAlive(Number(pid), null))
    );
  });
  if (dead.length < MOST_DEADLY) return;
  // The next attempt of a person counts from the beginning.
  for (const name of dead) rmSync(join(stages, name), { recursive: true, force: true });
  throw new CsvError(
    'source-out-of-memory',
    `Reading ${input} ended its process ${dead.length} times within an hour. Look at the memory of the machine and at the input, then start the job again; nothing was bought`,
  );
}

/** The form of the enriched CSV: as the request says, or that of the input. */
function csvFormOf({ csvDelimiter, csvBom }: EnrichCsvInput, { delimiter, bom }: StageManifest): CsvForm {
  const own = delimiter !== null && isCsvDelimiter(delimiter) ? delimiter : usualCsv.delimiter;
  return { delimiter: csvDelimiter ?? own, bom: csvBom ?? bom ?? false };
}

const generationOf = (facts: readonly unknown[]): string => sha256(canonicalJson(facts)).slice(0, 12);

const sameSize = (rows: number): SliceSizes => ({ large: rows, small: rows });

/**
 * Returns an earlier stage of the same rows and request; null without one. Its generation and slices are kept, because the warehouse knows
 * loaded rows by the numbers of their slices.
 */
function stagedBefore(facts: readonly unknown[], before: JobEntry | null): StagedJob | null {
  const found = stagesOf(before).find(
    ({ staged: { generation, rowsPerSlice } }) => generation === generationOf([...facts, rowsPerSlice]),
  );
  return found?.staged ?? null;
}

/**
 * Completes a request from the job's last run: the key, the URL column, its scheme, and the options if the request has none. Otherwise the
 * same command, typed without these flags, would buy every row again with other options.
 */
function keeping(request: EnrichCsvInput, before: StagedJob | undefined): EnrichCsvInput {
  const { operation = DEFAULT_OPERATION, options, template, defaultScheme, key } = request;
  if (before?.operation !== operation) return request;
  const keepsOptions =
    Object.keys(options ?? {}).length === 0 && template === undefined && before.template === undefined;
  const kept: SentWith = keepsOptions ? before : {};
  return {
    ...request,
    key: key ?? before.key,
    defaultScheme: defaultScheme ?? before.defaultScheme,
    options: keepsOptions ? before.options : options,
    beta: request.beta ?? kept.beta,
    extraHeaders: request.extraHeaders ?? kept.extraHeaders,
    unchecked: request.unchecked ?? kept.unchecked,
  };
}

/** Why a job must not use its warehouse or write its CSV, in a sentence; null if the job may do both. Changes nothing. */
export async function whyPathsRefused(
  context: Pick<StageContext, 'cwd' | 'origin' | 'warehouse'>,
  request: EnrichCsvInput,
): Promise<string | null> {
  const { input, into } = identify(context, request);
  const why = await whyUnwritable(into);
  if (why !== null) return `${into} cannot be used as the warehouse: ${why}.`;
  const csv = request.csv ?? null;
  if (sinkOf(into) !== null && (csv ?? request.publish ?? null) !== null)
    return `${csv === null ? 'publish' : 'csv'}: the rows of a job into ${into} are in the sink. Leave it out.`;
  const wrong =
    csv === null ? null : whyNoTarget('csv', resolve(context.cwd, csv), { into: warehouseFile(into), input });
  return wrong === null ? null : `The CSV cannot be written: ${wrong}.`;
}

/** Renames a draft to its stage. An existing stage has the same content and is kept. */
async function moveWhole(draft: string, stageDir: string): Promise<void> {
  const isThere = () => existsSync(join(stageDir, 'manifest.json'));
  if (!isThere()) {
    try {
      return await moveDurably(draft, stageDir);
    } catch (error) {
      if (!isThere()) throw error;
    }
  }
  // `clean` keeps stages that were used lately.
  utimesSync(stageDir, new Date(), new Date());
  // A killed process may have renamed the stage, and not synced the folder.
  await syncFolder(dirname(stageDir));
}

/**
 * Removes older stages of a job. Call this only when this command owns the job: before that, another command may still use an older stage.
 */
export function forgetEarlierStages({ stageDir }: Pick<StagedJob, 'stageDir'>): void {
  const stages = dirname(stageDir);
  const others = readdirSync(stages, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== basename(stageDir) && !entry.name.startsWith('draft-'))
    .map((entry) => ({ path: join(stages, entry.name), at: statSync(join(stages, entry.name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of others.slice(KEEP_GENERATIONS)) rmSync(path, { recursive: true, force: true });
}

/** The options of a run that are not in its stage: the limits of the run, and which earlier answers are too old. */
export function askedOf(request: RunBounds, freshness: Freshness | null | undefined): NonNullable<JobEntry['asked']> {
  return { ...boundsOf(request), freshness: freshness ?? undefined };
}

export type RunOfJob = Pick<JobEntry, 'staged' | 'asked' | 'csv'>;

export function toRunInput({ staged, asked, csv }: RunOfJob, shared: boolean): EnrichCsvInput {
  return {
    input: staged.input,
    urlColumn: staged.unitColumn ?? '',
    staged,
    // No CSV is written by the job in a shared store: any worker may end the job, and would write the file on its own machine.
    csv: csv === null || shared ? undefined : csv,
    ...asked,
  };
}

/** Adds the name of the input to an error about a line of it; an error about a whole file has its name. */
function withName(error: unknown, name: string): unknown {
  if (!(error instanceof CsvError) || error.line === null) return error;
  const Kind = error instanceof InputUnsteady ? InputUnsteady : CsvError;
  return new Kind(error.errorCode, `${name}: ${error.message}`, error.line, error.column);
}
