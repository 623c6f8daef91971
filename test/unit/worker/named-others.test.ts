import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { startedByCommand, WorkOwners } from '../../../src/worker/control/work-owners.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import type { Store } from '../../../src/worker/store/store.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();

it('a command names work that runs here for others, and not the paused job of an ended command', async () => {
  const busy = { pendingActivities: [{}] };
  const workflows = [
    { workflowId: 'searchflow-scheduled', memo: {}, raw: {} },
    { workflowId: 'searchflow-taken-over', memo: startedByCommand, raw: busy },
    { workflowId: 'searchflow-just-signalled', memo: startedByCommand, raw: { pendingWorkflowTask: {} } },
    { workflowId: 'searchflow-paused', memo: startedByCommand, raw: { pendingActivities: [], pendingChildren: [] } },
  ];
  const client = {
    workflow: {
      list: async function* () {
        yield* workflows;
      },
      getHandle: (id: string) => ({ describe: async () => workflows.find(({ workflowId }) => workflowId === id) }),
    },
  } as unknown as Client;
  const said: string[] = [];
  const config = { taskQueue: 'q', say: (text: string) => said.push(text) } as unknown as RuntimeConfig;
  const entries = new FolderJobs(join(dir, 'jobs'));
  await new WorkOwners(config, { entries } as unknown as Store, async () => client).resolveOrphans('command');
  entries.close();
  expect(said).toEqual(['Also running here, for schedules or other clients: scheduled, taken-over, just-signalled.']);
});
