import type { Connection } from '@temporalio/client';

/**
 * All texts that the server keeps of a namespace: the histories and descriptions of its workflows and schedules, with the bytes of payloads
 * as text. Search attributes and markers of patches are left out: no codec encodes them, searchflow sets no search attribute, and a marker has
 * only the name of a change of the code. `workflows`: the number of runs that were read.
 */
export async function keptTexts(
  { workflowService }: Pick<Connection, 'workflowService'>,
  namespace: string,
): Promise<{ readonly texts: string; readonly workflows: number }> {
  const texts: string[] = [];
  const { executions } = await workflowService.listWorkflowExecutions({ namespace, pageSize: 1000 });
  for (const { execution } of executions ?? []) {
    texts.push(shown(await workflowService.describeWorkflowExecution({ namespace, execution })));
    let nextPageToken: Uint8Array | null | undefined;
    do {
      const page = await workflowService.getWorkflowExecutionHistory({ namespace, execution, nextPageToken });
      texts.push(shown(page.history));
      nextPageToken = page.nextPageToken;
    } while (nextPageToken?.length);
  }
  const { schedules } = await workflowService.listSchedules({ namespace, maximumPageSize: 100 });
  for (const { scheduleId } of schedules ?? [])
    texts.push(shown(await workflowService.describeSchedule({ namespace, scheduleId })));
  return { texts: texts.join('\n'), workflows: executions?.length ?? 0 };
}

/** A message of Temporal's API as text. `JSON.stringify` would show bytes in Base64. */
function shown(message: unknown): string {
  if (message instanceof Uint8Array) return Buffer.from(message).toString();
  if (typeof message !== 'object' || message === null) return String(message);
  return Object.entries(message)
    .filter(
      ([name]) => name !== 'searchAttributes' && !('markerName' in message && message.markerName === 'core_patch'),
    )
    .map(([name, value]) => `${name}: ${shown(value)}`)
    .join('\n');
}
