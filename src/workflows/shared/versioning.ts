import {
  type ActivityFunction,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { AllActivities } from '../../activities/index.js';

/** Activities with this policy, each with its summary: a phrase that Temporal's UI shows beside the name of the activity. */
export function summarizedActivities<Name extends keyof AllActivities>(
  policy: ActivityOptions,
  summaries: Readonly<Record<Name, string>>,
): Pick<ActivityInterfaceFor<AllActivities>, Name> {
  const activities = Object.entries<string>(summaries).map(([name, summary]) => [
    name,
    (proxyActivities({ ...policy, summary }) as Readonly<Record<string, ActivityFunction>>)[name],
  ]);
  return Object.fromEntries(activities);
}

/**
 * Sets how a workflow moves between versions of the workers. `moves`: the workflow may wait for long, and continues on the next version at
 * its next step; `stays`: the workflow is short, and its version drains. Without Worker Versioning, Temporal accepts no behaviour. So a
 * workflow that began on a versioned worker can only continue on versioned workers.
 */
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any workflow.
export function setVersioning(how: 'moves' | 'stays', workflow: (...args: any[]) => Promise<unknown>): void {
  setWorkflowOptions(() => {
    const isVersioned = Boolean(workflowInfo().currentDeploymentVersion?.deploymentName);
    return isVersioned ? { versioningBehavior: how === 'moves' ? 'AUTO_UPGRADE' : 'PINNED' } : {};
  }, workflow);
}
