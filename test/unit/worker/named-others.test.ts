import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { busyOn } from '../../../src/worker/control/temporal-status.js';

it('runs that make progress are listed, and not those that wait for a person', async () => {
  const workflows = [
    { workflowId: 'searchflow-busy', raw: { pendingActivities: [{}] } },
    { workflowId: 'searchflow-just-signalled', raw: { pendingWorkflowTask: {} } },
    { workflowId: 'searchflow-paused', raw: { pendingActivities: [], pendingChildren: [] } },
  ];
  const client = {
    withAbortSignal: (_signal: AbortSignal, ask: () => Promise<unknown>) => ask(),
    workflow: {
      list: async function* () {
        yield* workflows;
      },
      getHandle: (id: string) => ({ describe: async () => workflows.find(({ workflowId }) => workflowId === id) }),
    },
  } as unknown as Client;
  expect(await busyOn(client, 'q')).toEqual(['searchflow-busy', 'searchflow-just-signalled']);
});
