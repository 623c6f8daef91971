import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import type { JobEntry } from '../../../src/core/job-entry-schemas.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { databaseWarehouse } from '../../../src/worker/config/database-setting.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { EventControl } from '../../../src/worker/control/event-control.js';
import { MonitorControl } from '../../../src/worker/control/monitor-control.js';
import { stageEnrichment } from '../../../src/worker/staging/stage-job.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();

const origin = 'https://api.example.com';

function access(warehouse: string | null) {
  const config = { origin, stateDir: dir, warehouse: warehouse === null ? null : databaseWarehouse(warehouse) };
  const allow = async () => undefined;
  return { client: null as unknown as Client, config: config as RuntimeConfig, shared: true, allow };
}

async function staged(into: string | null, { job = null, warehouse = null, jobs = [] }: Staged = {}) {
  const input = join(dir, 'rows.csv');
  writeFileSync(input, 'url\nhttps://a.com/\n');
  const { config } = access(warehouse);
  const context = {
    ...config,
    cwd: dir,
    concurrency: 5,
    transport: { check: () => undefined, unchecked: false },
    shared: true,
  };
  const request = { input, urlColumn: null, delimiter: null, job, into, options: {}, batch: 100 };
  return (await stageEnrichment({ ...context, jobs: async () => jobs }, request)).staged;
}
interface Staged {
  readonly job?: string | null;
  readonly warehouse?: string | null;
  readonly jobs?: readonly JobEntry[];
}

/** The ids that the code makes of an address. */
function idsOf(into: string) {
  const [events, monitors] = [new EventControl(access(null), dir), new MonitorControl(access(null), dir)];
  return {
    walk: events.work({ kind: 'sync', ...events.target(into) }).job,
    batch: monitors.batchWork({ action: 'pause', filter: { name: 'x' }, into: monitors.target(into).into }).job,
    exported: monitors.exportWork({ into: monitors.target(into).into }).work.workflowId,
  };
}

const full = 'postgres://db.internal:5432/etl?sslmode=verify-full';

describe('the address of a warehouse', () => {
  it('is in a job, a walk and a batch with the parameters that others need to connect in the same way', async () => {
    const typed = 'postgres://ann:canary@DB.internal/etl?sslmode=verify-full';
    expect((await staged(typed)).into).toBe(full);
    expect(new EventControl(access(null), dir).target(typed)).toEqual({ into: full });
    expect(new MonitorControl(access(null), dir).target(typed)).toEqual({ into: full });
  });

  it('is that of the settings by default, or the same database without parameters', async () => {
    const warehouse = 'postgres://ann:canary@db.internal/etl?sslmode=verify-full';
    for (const into of [null, 'postgres://db.internal/etl'])
      expect((await staged(into, { warehouse })).into).toBe(full);
    expect(new EventControl(access(warehouse), dir).target(undefined)).toEqual({ into: full });
  });

  it('keeps ids unchanged, with any parameters', async () => {
    const ids = {
      walk: 'events-sync-757c9a',
      batch: 'monitors-pause-522ded',
      exported: 'searchflow-monitors-export-f07125',
    };
    for (const into of ['postgres://db.internal/etl', full, 'postgres://u:p@DB.INTERNAL/etl?sslmode=disable']) {
      expect(idsOf(into)).toEqual(ids);
      expect((await staged(into, { job: 'named' })).job).toBe('named-0ea96e');
    }
  });

  it('has its own connections: no two servers and no two ways to connect share one', async () => {
    const all = createWarehouses({ credentialsFor: () => null });
    const addresses = ['postgres:///etl?host=/run/a', 'postgres:///etl?host=/run/b', 'postgres://db/etl', full];
    const opened = [...addresses, 'postgres://db/etl?sslmode=disable'].map((address) => all.open(address));
    expect(new Set(opened).size).toBe(5);
    expect(all.open('postgres://DB:5432/etl')).toBe(opened[2]);
    await all.close();
    const secret = new Secret('postgres://ann:canary@db/etl');
    expect(() => createWarehouses({ credentialsFor: () => secret }).open('postgres://db/etl?sslmod=x')).toThrow(
      /sslmode/,
    );
  });
});
