import { EventEmitter, once } from 'node:events';
import { beforeAll, expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { WarehouseBusy, WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { whyAway, whyRefused } from '../../../src/worker/store/check-database.js';
import { openWarehouses } from '../../../src/worker/store/warehouses.js';
import { ofFile } from '../../support/of-file.js';
import { startPostgres } from '../../support/postgres-server.mjs';

const server = ofFile(startPostgres);
let url: string;
let shown: string;
beforeAll(async () => {
  url = await server.database('house');
  shown = `postgres://127.0.0.1:${server.port}/house`;
});

it('a database without a login for this worker is left to another worker, reported once, or fails if there is none', async () => {
  const wrong = { url: new Secret(url.replace(server.password, 'guessed')), shown };
  const said: string[] = [];
  const one = openWarehouses({ stateDir: '/nowhere', say: (sentence) => said.push(sentence), warehouse: wrong }, true);
  const tries = Array.from({ length: 5 }, () => () => one.of({ into: shown }).holdsRows('job'));
  for (const load of tries) expect(await load().catch((error: unknown) => error)).toBeInstanceOf(WarehouseBusy);
  expect(said).toEqual([expect.stringMatching(/^A worker on \S+ \(PID \d+\) cannot load: .*SEARCHFLOW_WAREHOUSE_URL/)]);
  const events = await one.events.warehouse({ into: shown });
  // The windows of a walk share the loads of one warehouse.
  expect(await one.events.warehouse({ into: shown })).toBe(events);
  const walk = { origin: 'sandbox', stream: 'sync' };
  const refused = await events.stream(walk).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    name: 'WarehouseBusy',
    refusal: { waitsFor: 'a worker that can log in to the warehouse' },
  });
  const monitors = await one.monitors.warehouse({ into: shown });
  await expect(monitors.audit.pausesOf('sandbox', 'nights')).rejects.toBeInstanceOf(WarehouseBusy);
  expect(said).toHaveLength(1);
  await one.close();

  const alone = openWarehouses({ stateDir: '/nowhere', say: () => undefined, warehouse: wrong }, false);
  await expect(alone.of({ into: shown }).holdsRows('job')).rejects.toBeInstanceOf(WarehouseUnusable);
  await expect((await alone.events.warehouse({ into: shown })).stream(walk)).rejects.toBeInstanceOf(WarehouseUnusable);
  await alone.close();

  const right = openWarehouses(
    { stateDir: '/nowhere', say: () => undefined, warehouse: { url: new Secret(url), shown } },
    true,
  );
  expect(await right.of({ into: shown }).holdsRows('job')).toBe(false);
  expect(await (await right.events.warehouse({ into: shown })).stream(walk)).toBeNull();
  await right.close();
});

it('a command waits for a database before it uses it; a refused login is not reported as unavailable', async () => {
  const wrong = { url: new Secret(url.replace(server.password, 'guessed')), shown };
  expect(await whyAway(wrong, () => undefined, 0)).toBeNull();
  expect(await whyRefused(wrong, () => undefined)).toContain(`The database ${shown} refused: password`);
  await server.kill();
  expect(await whyAway({ url: new Secret(url), shown }, () => undefined, 0)).toContain('house cannot be reached: ');
  const said = new EventEmitter();
  const found = whyAway({ url: new Secret(url), shown }, (sentence) => said.emit('said', sentence));
  expect(await once(said, 'said')).toEqual([expect.stringContaining(`Waiting for the database ${shown}`)]);
  await server.start();
  expect(await found).toBeNull();
});

it('a file of another machine is left to a worker there', () => {
  const warehouses = openWarehouses({ stateDir: '/nowhere', say: () => undefined, warehouse: null }, true);
  expect(() => warehouses.of({ into: '/data/out.duckdb', host: 'another-machine' })).toThrow(WarehouseBusy);
});
