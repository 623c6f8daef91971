import { randomUUID } from 'node:crypto';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import { type RetryRowsInput, type StagedJob, wantedRows } from '../../core/rows/job.js';
import type { RetryUnit } from '../../core/rows/row-warehouse.js';
import type { ActivityDeps } from '../base/deps.js';
import type { Unit } from '../purchase/purchase-request.js';
import { createPieceActivity, unitsOf, type WithPiece } from './enrich-slice.js';
import { keysOfJob } from './row-requests.js';
import { withUnitFiles } from './slice-loads.js';

/** About so many units are bought in one piece of the second pass. Their answers of usual size are loaded in one transaction. */
const UNITS_PER_PIECE = 1000;

/** Returns the number of slices whose failed units are one piece. */
export const slicesPerPiece = (slices: number, units: number): number =>
  Math.max(1, Math.floor((UNITS_PER_PIECE * slices) / Math.max(1, units)));

/**
 * `retryRows`: buys the failed units of some slices once more, and replaces the answers of their rows. A slice has few such rows, so it is not
 * staged and loaded again. See {@link createPieceActivity}.
 */
export const createRetryRows = (deps: ActivityDeps) => createPieceActivity(deps, withFailedUnits);

const withFailedUnits: WithPiece<RetryRowsInput> = async (deps, { staged, slice, to, attempt }, work) => {
  const all = await deps.warehouseFor(staged).retryUnits(staged.job, { from: slice, to });
  const found = all.filter(({ row }) => row <= wantedRows(staged));
  const keys = found.map(({ key }) => key);
  return work({
    units: await originalUnits(deps, staged, found),
    load: () => loadUnits(deps, staged, { slice, attempt, keys }),
    rowOf: async (key) => found.find((unit) => unit.key === key)?.row ?? null,
  });
};

/** Loads the landed answers of the second pass while a job is paused. Buys nothing. */
export async function loadLandedRetries(
  deps: ActivityDeps,
  staged: StagedJob,
  freshness: RetryFreshness | undefined,
): Promise<void> {
  const { job, slices } = staged;
  const found = await deps.warehouseFor(staged).retryUnits(job, { from: 0, to: slices });
  const landed = await deps.journal.lookup(
    found.map(({ key }) => key),
    freshness,
  );
  const keys = landed.map(({ key }) => key);
  for (let at = 0; at < keys.length; at += UNITS_PER_PIECE)
    await loadUnits(deps, staged, { slice: 0, attempt: randomUUID(), keys: keys.slice(at, at + UNITS_PER_PIECE) });
}

async function loadUnits(
  deps: ActivityDeps,
  staged: StagedJob,
  of: { readonly slice: number; readonly attempt: string; readonly keys: readonly string[] },
): Promise<{ readonly rows: number }> {
  const { keys } = of;
  if (keys.length === 0) return { rows: 0 };
  const { job, generation } = staged;
  return withUnitFiles(deps, staged, of, (unitFiles) =>
    deps.warehouseFor(staged).loadRetry({ job, generation, unitFiles, keys }),
  );
}

/** The units as they were staged. A database may hold a text in another form; then the unit is read from its staged slice. */
async function originalUnits(deps: ActivityDeps, staged: StagedJob, found: readonly RetryUnit[]): Promise<Unit[]> {
  const keyOf = keysOfJob(deps, staged);
  const changed = found.filter(({ key, unit }) => keyOf(unit) !== key);
  const originals = new Map<string, Unit>();
  for (const slice of new Set(changed.map((unit) => unit.slice))) {
    const wanted = new Set(changed.filter((unit) => unit.slice === slice).map(({ key }) => key));
    for (const unit of await unitsOf(await deps.stages.slice(staged, slice), wanted)) originals.set(unit.key, unit);
  }
  return found.map(({ key, unit }) => originals.get(key) ?? { key, unit });
}
