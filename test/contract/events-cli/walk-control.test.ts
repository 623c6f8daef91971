import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { afterEach, expect, it } from 'vitest';
import { stateOf } from '../../../dist/cli/events/events-status.js';
import { EventControl } from '../../../dist/worker/control/event-control.js';
import { statusOf } from '../../../dist/worker/runtime/job-status.js';
import { readEventStatus } from '../../../dist/worker/store/event-status.js';
import type { WalkEntry } from '../../../src/core/job-entry-schemas.js';
import { RowJobHandle } from '../../../src/worker/control/job-handle.js';
import { findWalk } from '../../../src/worker/runtime/job-lists.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import { WalkSetting } from '../../support/events/walk-setting.js';
import { noRecords } from '../../support/jobs/job-entry.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 30_000, interval: 50 };
const from = '2025-01-01T00:00:00.000Z';
let setting: WalkSetting;
afterEach(() => setting.close());

/** The walks of a folder, as the command starts them. */
const controlOf = (origin = 'sandbox') =>
  new EventControl(
    { client: temporal.client, config: { ...setting.config, origin }, shared: false, allow: async () => undefined },
    setting.folder.dir,
  );

it('a walk of any client is found by its id, its workflow or its name; equal inputs are one walk', async () => {
  setting = await WalkSetting.open(temporal, { count: 400, from, to: '2025-02-01T00:00:00.000Z' });
  await (await setting.sync()).result();
  const control = controlOf();
  const sync = { kind: 'sync', types: ['webset.idle'], into: setting.folder.into } as const;
  const { handle, joined } = await control.start(sync);
  const again = await control.start({ ...sync, parallel: 2 });
  expect([joined, again.handle.workflowId]).toEqual([false, handle.workflowId]);
  await handle.result();
  const walks = await new FolderJobs(join(setting.config.stateDir, 'jobs')).walks();
  expect(walks.map(({ stream, origin, into }) => [stream, origin, into])).toEqual([
    ['sync', 'sandbox', setting.folder.into],
    ['sync webset.idle', 'sandbox', setting.folder.into],
  ]);
  // This walk has a workflow id that its client chose.
  expect(findWalk(walks, walks[0]?.workflowId ?? '')?.stream).toBe('sync');
  expect(findWalk(walks, handle.job)?.workflowId).toBe(`searchflow-${handle.job}`);
  expect(findWalk(walks, 'events-verify')).toBeNull();
  expect(() => findWalk(walks, 'events-sync')).toThrow(
    `(sync of sandbox into ${setting.folder.into}), ${handle.job} (sync webset.idle of sandbox into ${setting.folder.into}). Give one`,
  );
  expect(findWalk(walks.slice(1), 'events-sync')?.job).toBe(handle.job);
  expect(control.work({ ...sync, into: 'elsewhere.duckdb' }).job).not.toBe(handle.job);
  const { streams, types } = await readEventStatus(setting.config, setting.folder.into);
  expect(streams.map(({ stream }) => stream)).toEqual(['sync', 'sync webset.idle']);
  expect(types.reduce((sum, { events }) => sum + events, 0)).toBe(400);
});

it('a failed walk shows its reason without a worker; one that its server does not know is stopped', async () => {
  setting = await WalkSetting.open(temporal, { count: 400, from, to: '2025-02-01T00:00:00.000Z' });
  const jobs = new FolderJobs(join(setting.config.stateDir, 'jobs'));
  const found = async ({ workflowId }: { readonly workflowId: string }, client: Client | null = temporal.client) => {
    const walk = (await jobs.walks()).find((one) => one.workflowId === workflowId) as WalkEntry;
    return stateOf(await statusOf(walk, { ...noRecords, client }));
  };
  const start = async () => (await controlOf().start({ kind: 'sync', into: setting.folder.into })).handle;
  setting.sandbox.setFaults([{ when: { nth: 2 }, do: { kind: 'status', status: 422 } }]);
  const failed = await start();
  await expect(failed.result()).rejects.toThrow('422');
  expect(await found(failed)).toEqual({ state: 'failed', message: expect.stringContaining('422') });
  await expect(failed.cancel()).rejects.toThrow(`${failed.job} is not running`);
  await expect(new RowJobHandle(temporal.client, failed.job, failed.workflowId).cancel()).rejects.toThrow(
    `${failed.job} failed. To resume it:\n  searchflow resume ${failed.job}`,
  );

  setting.sandbox.setFaults([{ when: {}, do: { kind: 'status', status: 500 } }]);
  const { workflowId } = await start();
  await expect.poll(async () => (await found(failed)).state, soon).toBe('running');
  await temporal.client.workflow.getHandle(workflowId).terminate('by somebody');
  expect(await found(failed)).toEqual({ state: 'failed', message: 'by somebody' });
  const cancelled = await start();
  await cancelled.cancel();
  await expect(cancelled.result()).rejects.toThrow('cancelled');
  expect(await found(failed)).toEqual({ state: 'stopped', message: 'it was cancelled' });

  const [walk] = await jobs.walks();
  await jobs.putWalk({ ...(walk as NonNullable<typeof walk>), job: 'events-sync-lost', workflowId: 'lost' });
  const lost = { workflowId: 'lost' };
  expect(await found(lost)).toEqual({ state: 'stopped', message: null });
  expect(await found(lost, null)).toEqual({ state: 'interrupted', message: null });
});

it('a worker ignores walks for another service, and says so', async () => {
  setting = await WalkSetting.open(temporal, { count: 100 });
  const { handle } = await controlOf('https://api.elsewhere.example').start({
    kind: 'sync',
    into: setting.folder.into,
  });
  const waits = async () => (await handle.progress()).running.map(({ waitingFor }) => waitingFor);
  await expect.poll(waits, soon).toEqual([expect.stringContaining('for the service https://api.elsewhere.example')]);
  expect(setting.pages()).toBe(0);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow('cancelled');
});
