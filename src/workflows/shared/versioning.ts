import { setWorkflowOptions, workflowInfo } from '@temporalio/workflow';

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
