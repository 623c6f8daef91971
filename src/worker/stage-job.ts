import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { contentsKeys } from '../activities/contents-order.js';
import { contentsEndpoint } from '../api/contents.js';
import type { Transport } from '../api/transport.js';
import type { EnrichCsvInput, StagedJob } from '../core/job.js';
import { canonicalJson } from '../core/json.js';
import { isPostgresUrl } from '../postgres/index.js';
import { type StageManifest, stageCsv } from '../rows/index.js';
import { warehouseAddress } from '../sinks/index.js';
import { type DatabaseAddress, UsageError } from './runtime-types.js';
import { sha256 } from './sha256.js';

/** Requests of a slice: a durable unit of about two seconds at ten a second. */
const REQUESTS_PER_SLICE = 20;
/** Slices of a small file are smaller, so that it too is seen to move. */
const SMALL_REQUESTS_PER_SLICE = 2;
/** Contents of a file that stay staged, newest first: a run that is still going may read them. */
const KEEP_GENERATIONS = 3;

/** What staging needs to know of the process. */
export interface StageContext {
  readonly stateDir: string;
  readonly origin: string;
  readonly cwd: string;
  readonly concurrency: number;
  readonly transport: Pick<Transport, 'check'>;
  /** The store is one that workers on other machines use, too. */
  readonly shared: boolean;
  readonly warehouse?: DatabaseAddress | null;
}

export interface StageRequest {
  readonly input: string;
  readonly urlColumn: string | null;
  readonly delimiter: string | null;
  readonly job: string | null;
  readonly into: string | null;
  readonly options: StagedJob['options'];
  readonly batch: number;
}

/** Reads, checks and slices the input of an enrichment. Bad options and bad files are told before anything costs. */
export async function stageEnrichment(
  context: StageContext,
  request: StageRequest,
): Promise<{ readonly staged: StagedJob; readonly manifest: StageManifest }> {
  const options = Object.keys(request.options).length > 0 ? request.options : { text: true };
  context.transport.check(contentsEndpoint, { ...options, urls: ['https://example.com/'] });
  const identity = identify(context, request);
  const stages = join(context.stateDir, 'stages', identity.job);
  mkdirSync(stages, { recursive: true, mode: 0o700 });
  const draft = join(stages, `draft-${randomUUID()}`);
  try {
    const manifest = await stageCsv({
      source: request.input === '-' ? process.stdin : identity.input,
      units: { kind: 'url', column: request.urlColumn },
      delimiter: request.delimiter,
      rowsPerSlice: { large: REQUESTS_PER_SLICE * request.batch, small: SMALL_REQUESTS_PER_SLICE * request.batch },
      keyOf: contentsKeys({ origin: context.origin, sha256 }, options),
      sha256,
      outDir: draft,
    });
    const facts = [manifest.contentHash, options, manifest.unitColumn, request.delimiter, request.batch];
    const generation = sha256(canonicalJson(facts)).slice(0, 12);
    const stageDir = join(stages, generation);
    moveWhole(draft, stageDir);
    forgetOld(stages, generation);
    const requestsPerSlice = Math.max(1, Math.ceil(manifest.rowsPerSlice / request.batch));
    return {
      manifest,
      staged: {
        ...identity,
        origin: context.origin,
        operation: 'contents',
        columns: manifest.columns,
        unitColumn: manifest.unitColumn,
        options,
        batch: request.batch,
        generation,
        rows: manifest.rows,
        badRows: manifest.badRows,
        distinctUnits: manifest.distinctUnits,
        slices: manifest.slices,
        rowsPerSlice: manifest.rowsPerSlice,
        window: Math.ceil(context.concurrency / requestsPerSlice) + 2,
        stageDir,
        ...(context.shared && !isPostgresUrl(identity.into) ? { host: hostname() } : {}),
      },
    };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** The identity of a job: operation, input (or `--job`), sink and origin. */
function identify(context: StageContext, request: StageRequest): Pick<StagedJob, 'job' | 'name' | 'input' | 'into'> {
  if (request.input === '-' && request.job === null) {
    throw new UsageError('Standard input has no name: give the job one with --job NAME');
  }
  const input = request.input === '-' ? '-' : resolve(context.cwd, request.input);
  const name = request.job ?? basename(input).replace(/(\.(csv|tsv|txt|gz))+$/i, '');
  const into = warehouseAddress(
    request.into ?? context.warehouse?.shown ?? join('out', `${safe(name)}.duckdb`),
    context.cwd,
  );
  const what = canonicalJson(['contents', request.job === null ? input : `job ${name}`, into, context.origin]);
  return { job: `${safe(name)}-${sha256(what).slice(0, 6)}`, name, input, into };
}

/** Names a draft for what it holds. Whoever staged the same content before, or at the same time, has made the same files. */
function moveWhole(draft: string, stageDir: string): void {
  if (existsSync(join(stageDir, 'manifest.json'))) return;
  try {
    renameSync(draft, stageDir);
  } catch (error) {
    if (!existsSync(join(stageDir, 'manifest.json'))) throw error;
  }
}

function safe(name: string): string {
  return (
    name
      .replace(/[^\w-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'job'
  );
}

function forgetOld(stages: string, current: string): void {
  const others = readdirSync(stages, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== current && !entry.name.startsWith('draft-'))
    .map((entry) => ({ path: join(stages, entry.name), at: statSync(join(stages, entry.name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of others.slice(KEEP_GENERATIONS)) rmSync(path, { recursive: true, force: true });
}

/** For the activity: the same, from the workflow's plain input. */
export function toStageRequest(input: EnrichCsvInput): StageRequest {
  return {
    input: input.input,
    urlColumn: input.urlColumn,
    delimiter: input.delimiter ?? null,
    job: input.job ?? null,
    into: input.into ?? null,
    options: input.options ?? {},
    batch: input.batch ?? 100,
  };
}
