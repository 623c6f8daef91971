import type { Output } from '../../api/command-outputs.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { isLeftRunning } from '../../core/purchase/failure-tags.js';
import { FORGOTTEN } from '../../core/purchase/forgotten.js';
import { retriedTags } from '../../core/purchase/freshness.js';
import { pricesAt } from '../../core/purchase/prices.js';
import { isUnderWay } from '../../core/rows/job-names.js';
import type { FailedPick, FailedUnit, RowProgress, RowReads } from '../../core/rows/row-warehouse.js';
import { nearest } from '../../core/text/nearest.js';
import { toDo } from '../../core/text/shell-word.js';
import { rateProfileOf } from '../config/derived-settings.js';
import { type FailedSelection, type RetryPlan, UsageError } from '../config/runtime-types.js';
import { findJob, noteState } from '../staging/find-job.js';
import { quote, teamBudgetNote } from '../staging/quote.js';
import { statusesOf } from './job-status.js';
import type { RuntimeParts } from './runtime-parts.js';

/** Plans `searchflow retry`: the failed rows to buy again, and their price. Buys nothing. Throws `UsageError` for wrong tags and rows. */
export async function planRetry(parts: RuntimeParts, job: string, selection: FailedSelection): Promise<RetryPlan> {
  const { config, store } = parts;
  const { entry, warehouse, pick, units } = await pickFailed(parts, job, selection, 'retry');
  const { staged } = entry;
  // The run reads the stage of the last run.
  if (units.length > 0) await store.stages.slice(staged, units[0]?.slice ?? 0);
  // Without tags and rows, discarded rows stay discarded.
  const isNamed = selection.tags !== undefined || selection.rows !== undefined;
  const discarded = isNamed ? [] : await warehouse.failedUnits(staged.job, { marked: 'discarded' });
  const left = new Set(discarded.map(({ key }) => key));
  const wanted = units.filter(({ key }) => key !== null && !left.has(key));
  const costs = quote(staged, pricesAt(Date.now(), config.prices), rateProfileOf(config));
  // The runs of these rows were left running at the service, and are followed again without a purchase.
  const running = wanted.filter(({ tag }) => isLeftRunning(tag));
  for (const slice of new Set(wanted.map((unit) => unit.slice))) {
    const bought = wanted.filter((unit) => unit.slice === slice && !isLeftRunning(unit.tag));
    costs.add(bought.map(({ unit }) => unit as string));
  }
  const { micros, requests, isMost, seconds, perSecond } = costs.total();
  const note = await teamBudgetNote(await store.journal(), micros);
  return {
    staged,
    pick: isNamed ? pick : { tags: [...new Set(wanted.map(({ tag }) => tag))] },
    rows: wanted.reduce((sum, { rows }) => sum + rows, 0),
    units: wanted.length - running.length,
    running: running.length,
    tags: countTags(wanted),
    ...{ requests, estimateMicros: micros, estimateIsMost: isMost, seconds, perSecond },
    allowedMicros: config.maxCostPerJobMicros ?? null,
    notes: note === null ? [] : [note],
  };
}

/**
 * Discards failed rows of a job, or undoes that. Buys nothing. Throws `UsageError` for wrong tags and rows, and if the job is running.
 * Rows with the same unit are discarded together.
 */
export async function discardRows(
  parts: RuntimeParts,
  job: string,
  { undo, ...selection }: FailedSelection & { readonly undo: boolean },
): Promise<Output<'discarded'>> {
  const { entry, warehouse, pick, units } = await pickFailed(parts, job, selection, 'discard');
  const { staged, state } = entry;
  if (undo) await warehouse.unmarkRows(staged.job, pick);
  else await warehouse.markRows(staged.job, 'discarded', pick);
  const counts = await warehouse.summary(staged.job);
  if (state.counts) await noteState(parts.store.entries, staged, { ...state, counts });
  const { error, invalid, discarded = 0 } = counts;
  return {
    ...{ kind: 'discarded', job: staged.job, name: staged.name, undo },
    rows: units.reduce((sum, { rows }) => sum + rows, 0),
    discarded,
    failed: error + invalid - discarded,
  };
}

function countTags(units: readonly FailedUnit[]): Readonly<Record<string, number>> {
  const tags: Record<string, number> = {};
  for (const { tag, rows } of units) tags[tag] = (tags[tag] ?? 0) + rows;
  return tags;
}

/**
 * Finds the failed rows of a job that a person names; without names, those that failed for a temporary reason. Throws `UsageError` if the
 * job is running or its last run was not complete.
 */
async function pickFailed(parts: RuntimeParts, job: string, { tags, rows }: FailedSelection, command: string) {
  const entry = await findJob(parts.store.entries, job);
  await refuseUnlessReady(parts, entry, command);
  const { staged } = entry;
  const warehouse = parts.warehouses.of(staged);
  if (tags) await checkTags(warehouse, staged, tags, command);
  if (rows) await checkRows(warehouse, staged, rows, command);
  const pick: FailedPick = rows ? { rows } : { tags: tags ?? retriedTags };
  return { entry, warehouse, pick, units: await warehouse.failedUnits(staged.job, pick) };
}

/** The job must not be running. For `retry` its last run must be complete. */
async function refuseUnlessReady(parts: RuntimeParts, entry: JobEntry, command: string): Promise<void> {
  const [status] = await statusesOf(parts, [entry]);
  const { job } = entry.staged;
  const phase = status?.phase ?? 'done';
  const isRunning = phase === 'waiting' || isUnderWay(phase);
  if (phase === 'done' || (command !== 'retry' && !isRunning)) return;
  throw new UsageError(
    'job-running',
    isRunning && phase !== 'paused'
      ? `${job} is running. Wait until it ends, then run ${command} again`
      : `${job} is ${phase}, so its rows are not complete. ${toDo('To complete them', 'resume', job)}`,
  );
}

async function checkTags(
  warehouse: RowProgress & RowReads,
  staged: StagedJob,
  tags: readonly string[],
  command: string,
): Promise<void> {
  const { tags: counted } = await warehouse.summary(staged.job);
  // Discarded rows are not counted.
  const discarded = await warehouse.failedUnits(staged.job, { marked: 'discarded' });
  const names = [...new Set([...Object.keys(counted), ...discarded.map(({ tag }) => tag)])];
  for (const tag of tags) {
    const units = names.includes(tag) ? await warehouse.failedUnits(staged.job, { tags: [tag] }) : [];
    if (command === 'retry' && units.length > 0 && units.every(({ key }) => key === null))
      throw new UsageError(
        'row-not-retryable',
        `Rows with the tag ${tag} are bad rows, which cannot be bought. Correct them in the input, then run the job's command again`,
      );
    if (names.includes(tag)) continue;
    const near = nearest(tag, names);
    const hint =
      names.length === 0
        ? `${staged.job} has no failed rows`
        : near
          ? `Did you mean ${near}? Tags of ${staged.job}: ${names.join(', ')}`
          : `Tags of ${staged.job}: ${names.join(', ')}`;
    throw new UsageError('row-not-retryable', `No row failed with the tag ${tag}. ${hint}`);
  }
}

async function checkRows(warehouse: RowReads, staged: StagedJob, rows: readonly number[], command: string) {
  const found = new Map((await warehouse.rowStates(staged.job, rows)).map((state) => [state.row, state]));
  for (const row of rows) {
    const state = found.get(row);
    if (state === undefined)
      throw new UsageError('row-unknown', `There is no row ${row}: ${staged.job} has the rows 1 to ${staged.rows}`);
    if (state.tag === FORGOTTEN)
      throw new UsageError('row-not-retryable', `Row ${row} was forgotten: it has no data to ${command}`);
    if (state.status === 'success')
      throw new UsageError('row-not-retryable', `Row ${row} has not failed: it has an answer`);
    if (state.status === 'invalid' && command === 'retry')
      throw new UsageError(
        'row-not-retryable',
        `Row ${row} is a bad row (${state.tag}), which cannot be bought. Correct it in the input, then run the job's command again`,
      );
  }
}
