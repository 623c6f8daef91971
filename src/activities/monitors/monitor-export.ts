import { Context } from '@temporalio/activity';
import { getMonitorRunEndpoint, listMonitorRunsEndpoint, listMonitorsEndpoint } from '../../api/endpoints/monitors.js';
import { takesSome } from '../../core/monitors/monitor-filter.js';
import type { ExportCounts, MonitorRuns, RawRecord } from '../../core/monitors/monitor-warehouse.js';
import type { MonitorFilter } from '../../core/workflow-input-schemas.js';
import { SLICE_MS } from '../base/cancellation.js';
import type { ActivityDeps } from '../base/deps.js';
import { isGone, sendUnlessGone } from '../base/free-call.js';
import { type First, onlyFor, onlyForServed } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { redactAnswer } from '../call/landing.js';
import { mapConcurrent } from '../call/map-concurrent.js';
import { pagesOf } from './monitor-list.js';

/** Input of each activity of an export. */
export interface ExportStep {
  /** Base URL of the service, or `sandbox`. */
  readonly origin?: string;
  readonly into: string;
  readonly host?: string;
  readonly mark: string;
}

/** Counts of an export at the end of a slice. */
export type ExportSlice = ExportCounts & { readonly complete: boolean };

/** Number of monitors whose runs are read at the same time. */
const WIDTH = 5;

export function createMonitorExportActivities(deps: ActivityDeps) {
  const { origin } = deps;
  return {
    /** `exportMonitors`: loads the current monitors, and marks loaded monitors that no longer exist. */
    async exportMonitors(
      step: First<ExportStep & { readonly filter: MonitorFilter; readonly unchecked?: boolean | undefined }>,
    ): Promise<{ readonly monitors: number }> {
      return withHeartbeat(async () => {
        await onlyForServed(deps, step);
        const { runs } = await deps.monitors.warehouse(step);
        const since = Date.now();
        const ids = new Set<string>();
        let isWhole = true;
        const onLost = () => {
          isWhole = false;
        };
        const how = { unchecked: step.unchecked, onLost };
        const pages = pagesOf(deps, listMonitorsEndpoint, { ...step.filter }, how);
        for await (const page of pages) {
          const safe = page.map((one) => redactAnswer(one, listMonitorsEndpoint.secrets) as unknown as RawRecord);
          await runs.loadMonitors(origin, step.mark, safe);
          for (const { id } of safe) ids.add(id);
        }
        await runs.endMonitors(origin, step.mark, takesSome(step.filter) || !isWhole ? null : since);
        return { monitors: ids.size };
      });
    },

    /** `exportRunSlice`: for about a minute, reads the runs of monitors whose runs are not read yet. */
    async exportRunSlice(step: ExportStep): Promise<ExportSlice> {
      return withHeartbeat(async () => {
        onlyFor(deps, step.origin);
        const { runs } = await deps.monitors.warehouse(step);
        const until = performance.now() + SLICE_MS;
        const { cancellationSignal } = Context.current();
        const { mark } = step;
        for (let ids: readonly string[]; performance.now() < until; ) {
          ids = await runs.unread(origin, mark, 10 * WIDTH);
          if (ids.length === 0) return { ...(await runs.counts(origin, mark)), complete: true };
          await mapConcurrent(ids, WIDTH, async (id) => {
            cancellationSignal.throwIfAborted();
            if (performance.now() > until) return;
            await exportRuns(deps, runs, mark, id);
            await runs.endRuns(origin, mark, id);
          });
        }
        return { ...(await runs.counts(origin, mark)), complete: false };
      });
    },
  };
}

/**
 * Reads the runs of a monitor, newest first. Ends with the first page that has a run whose older runs are all loaded. Then reads again each
 * earlier run that had not ended and is not on these pages.
 */
async function exportRuns(deps: ActivityDeps, runs: MonitorRuns, mark: string, monitor: string): Promise<void> {
  const { origin } = deps;
  const known = new Map((await runs.knownRuns(origin, monitor)).map((run) => [run.id, run]));
  const open = new Set([...known.values()].filter(({ over }) => !over).map(({ id }) => id));
  const load = async (records: readonly RawRecord[]): Promise<void> => {
    if (records.length > 0) await runs.loadRuns(origin, mark, monitor, records);
  };
  const readRun = (runId: string) => sendUnlessGone(deps, getMonitorRunEndpoint, { id: monitor, runId });
  try {
    for await (const page of pagesOf(deps, listMonitorRunsEndpoint, { id: monitor })) {
      const records: RawRecord[] = [];
      for (const run of page) {
        open.delete(run.id);
        if (known.get(run.id)?.over) continue;
        // A list may omit parts of a run, so a completed run is read separately.
        const whole = run.status === 'completed' ? await readRun(run.id) : null;
        records.push({ ...(whole ?? run) });
      }
      await load(records);
      if (page.some(({ id }) => known.get(id)?.reached)) break;
    }
  } catch (error) {
    // The monitor was deleted after it was listed. Its runs stay as they are.
    if (!isGone(error)) throw error;
    return;
  }
  const rest: RawRecord[] = [];
  for (const id of open) {
    const run = await readRun(id);
    if (run !== null) rest.push({ ...run });
  }
  await load(rest);
}
