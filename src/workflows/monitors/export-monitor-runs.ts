import { defineQuery, defineSignal, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import { filterProblem } from '../../core/monitors/monitor-filter.js';
import { DEFAULT_MONITOR_WAREHOUSE, monitorSignals } from '../../core/monitors/monitor-names.js';
import { queryNames } from '../../core/rows/job-names.js';
import type { ExportMonitorRunsInput } from '../../core/workflow-input-schemas.js';
import type { MonitorExport } from '../../core/workflow-result-schemas.js';
import { toWorkflowFailure } from '../shared/failures.js';
import { bulkPolicy } from '../shared/policies.js';
import { forFirst, publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';

const runsChanged = defineSignal(monitorSignals.runsChanged);
const progressQuery = defineQuery<MonitorExport>(queryNames.progress);
const { exportMonitors, exportRunSlice } = summarizedActivities(bulkPolicy, {
  exportMonitors: 'load the monitors',
  exportRunSlice: 'load new runs and results',
});

/**
 * `exportMonitorRuns`: loads monitors, their runs and the results of the runs into a warehouse. The workflow reads the runs of a monitor
 * from the newest to the last known run. It reads a known run again if that run had not ended. A later export loads only what is new. After a
 * signal `runsChanged` it reads them once more. Start
 * the workflow by name with plain JSON, see `ExportMonitorRunsInput`. API reference: /monitors.
 */
export async function exportMonitorRuns(input?: ExportMonitorRunsInput, ...extra: []): Promise<MonitorExport> {
  const {
    filter = {},
    into = DEFAULT_MONITOR_WAREHOUSE,
    host,
    origin,
    unchecked,
  } = publicInput('exportMonitorRuns', [input ?? {}], {
    extra,
    also: (checked) => filterProblem(checked.filter ?? {}),
  });
  let changes = 0;
  setHandler(runsChanged, () => void changes++);
  let progress: MonitorExport = { into, monitors: 0, read: 0, added: 0, again: 0, results: 0 };
  setHandler(progressQuery, () => progress);
  const { firstExecutionRunId } = workflowInfo();
  const once = async (mark: string) => {
    const step = { origin, host, into, mark };
    const { monitors } = await exportMonitors(forFirst({ ...step, filter, unchecked }));
    progress = { ...progress, monitors };
    // Each activity takes up to a minute, so even an export of a whole day has a short history.
    for (let complete = false; !complete; ) {
      const { complete: isComplete, ...counts } = await exportRunSlice(step);
      complete = isComplete;
      progress = { ...progress, ...counts };
      setCurrentDetails(`${progress.read} of ${monitors} monitors, ${progress.added} new runs`);
    }
  };
  try {
    for (let seen = -1; seen !== changes; ) {
      seen = changes;
      await once(seen === 0 ? firstExecutionRunId : `${firstExecutionRunId}-${seen}`);
    }
    return progress;
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('stays', exportMonitorRuns);
