import { sleep, workflowInfo } from '@temporalio/workflow';
import type { CreateMonitorInput } from '../../core/workflow-input-schemas.js';
import type { CreatedMonitorResult, MadeMonitor } from '../../core/workflow-result-schemas.js';
import { failureOf, toWorkflowFailure } from '../shared/failures.js';
import { bulkPolicy, slicePolicy } from '../shared/policies.js';
import { forFirst, publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';

const { makeMonitor } = summarizedActivities(slicePolicy, { makeMonitor: 'create the monitor' });
const { findMadeMonitors } = summarizedActivities(bulkPolicy, {
  findMadeMonitors: 'find monitors of lost answers',
});

/**
 * Waits before further searches. A call without an answer may still take effect, so its monitor is searched for at once and again after
 * each wait.
 */
const POLL_AFTER = ['2s', '10s'] as const;

/**
 * `createMonitor`: creates a monitor once. If the answer gets lost, the monitor is searched for by a metadata key and adopted. A monitor is
 * created again only if the search finds none. See `CreateMonitorInput`. API reference: /monitors.
 */
export async function createMonitor(input: CreateMonitorInput, ...extra: []): Promise<CreatedMonitorResult> {
  const step = { ...publicInput('createMonitor', [input], { extra }), key: workflowInfo().firstExecutionRunId };
  try {
    for (let lost = 0; ; lost++) {
      const one = await made();
      if (one) {
        // A lost call may have created another monitor, which must be reported.
        const all = lost === 0 ? [] : await findMadeMonitors(step);
        const others = all.map(({ monitor }) => monitor.id).filter((id) => id !== one.monitor.id);
        return { ...one, adopted: false, others };
      }
      const [first, ...others] = await found();
      if (first) return { ...first, adopted: true, others: others.map((one) => one.monitor.id) };
    }
  } catch (error) {
    throw toWorkflowFailure(error);
  }

  /** Makes the call. Returns null without an answer, or with an unreadable answer. */
  async function made(): Promise<MadeMonitor | null> {
    try {
      return await makeMonitor(forFirst(step));
    } catch (error) {
      const { type } = failureOf(error);
      if (type !== 'UnknownOutcome' && type !== 'ResponseShape') throw error;
      return null;
    }
  }

  async function found() {
    for (const wait of [null, ...POLL_AFTER]) {
      if (wait !== null) await sleep(wait);
      const all = await findMadeMonitors(step);
      if (all.length > 0) return all;
    }
    return [];
  }
}

setVersioning('stays', createMonitor);
