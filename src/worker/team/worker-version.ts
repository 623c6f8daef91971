import type { Client } from '@temporalio/client';

/** Kind of a task queue in Temporal's API: workflow tasks. */
const WORKFLOW_TASKS = 1;

/**
 * The current version of the workers of a task queue, such as `build 7 of searchflow`; null without Worker Versioning. Only workers of this
 * version get new work.
 */
export async function currentVersion(client: Client, taskQueue: string): Promise<string | null> {
  const { versioningInfo } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: WORKFLOW_TASKS,
  });
  const { deploymentName, buildId } = versioningInfo?.currentDeploymentVersion ?? {};
  return buildId ? `build ${buildId} of ${deploymentName}` : null;
}
