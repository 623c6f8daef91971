import { resolve } from 'node:path';
import { parseAddress } from '../../core/connections/postgres-address.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { whyNoStep } from '../../core/publish-request.js';
import type { PublishStep } from '../../core/row-job-schemas.js';
import { jobRecord } from '../../core/rows/row-warehouse.js';
import { isSameFile } from '../../files/same-file.js';
import { type Place, placeOf } from '../../warehouse/publish/place-of.js';
import { viewColumnNames } from '../../warehouse/rows/job-columns.js';
import { hasExtension } from '../../warehouse/shared/load-duckdb.js';

/** The input of a workflow stays in its history, and schedules keep it, so a target has no password. */
export const NO_PASSWORD =
  'leave the password out of the address. Set it for the worker: PGPASSWORD, ~/.pgpass, or SEARCHFLOW_WAREHOUSE_URL for the server of the warehouse';

/** The place of a publish, or why the text is none. */
export function placeOrProblem(to: string): Place | string {
  try {
    return placeOf(to);
  } catch (error) {
    return (error as Error).message;
  }
}

/** Why a publish must not be the last step of a run, in words; null if it may be. */
export function whyNoPublish(step: PublishStep): string | null {
  if (step.to.trim() === '') return 'give a target';
  const place = placeOrProblem(step.to);
  if (typeof place === 'string') return place;
  if (place.kind === 'postgres') {
    try {
      if (parseAddress(step.to, '').password !== null) return NO_PASSWORD;
    } catch (error) {
      return `the address of the target ${(error as Error).message}`;
    }
  }
  const hasFiles = place.kind === 'folder' || place.kind === 's3';
  if (step.partition !== undefined && !hasFiles) return 'a partition is only for targets with files. Leave it out';
  return whyNoStep(step);
}

/** Why the key of a publish does not fit the columns of the job's view, in words; null if it does. */
export function whyNoKey({ key = [] }: PublishStep, staged: StagedJob): string | null {
  if (key.length === 0) return null;
  const names = viewColumnNames(jobRecord(staged));
  const unknown = key.find((name) => !names.includes(name));
  if (unknown === undefined) return null;
  return `the view of ${staged.name} has no column ${JSON.stringify(unknown)} for the key. Its columns: ${names.join(', ')}`;
}

/** Why this worker cannot publish a job to its target, in words; null if no reason is known before the publish. */
export function whyNotHere(
  { to }: PublishStep,
  { into, input }: Pick<StagedJob, 'into' | 'input'>,
  extensions: string | null,
): string | null {
  const place = placeOrProblem(to);
  if (typeof place === 'string') return place;
  const needed = place.kind === 's3' ? 'httpfs' : place.kind === 'ducklake' ? 'ducklake' : null;
  if (needed !== null && !hasExtension(needed, extensions))
    return (
      `the target needs DuckDB's extension ${needed}: put ${needed}.duckdb_extension into a folder, and set ` +
      'SEARCHFLOW_DUCKDB_EXTENSIONS (option duckDbExtensions of SearchflowPlugin) to this folder'
    );
  const isOwn = 'path' in place && [into, input].some((own) => isSameFile(own, place.path));
  return isOwn ? 'the target is the warehouse or the input of the job. Name another one' : null;
}

/** Whether only programs of this machine can read the target. */
export const isLocalTarget = (to: string): boolean => {
  const place = placeOrProblem(to);
  return typeof place !== 'string' && 'path' in place;
};

/** A target whose path does not depend on the working folder of the worker. */
export function absoluteTarget(to: string, cwd: string): string {
  if (!isLocalTarget(to)) return to;
  const [, catalog] = /^ducklake:(.*)$/.exec(to) ?? [];
  return catalog === undefined ? resolve(cwd, to) : `ducklake:${resolve(cwd, catalog)}`;
}
