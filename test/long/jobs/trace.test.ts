import { expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../../dist/core/connections/secret.js';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { type Service, startService } from '../../service/service.mjs';
import { enrich, serverOf } from '../../support/jobs/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { sharedPostgres } from '../../support/postgres.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const address = async (name: string, schema: string) => {
  const url = `${await sharedPostgres().database(name)}?schema=${schema}`;
  const shown = new URL(url);
  Object.assign(shown, { username: '', password: '' });
  return { url: new Secret(url), shown: shown.href };
};

const places: readonly [string, (folder: Folder) => Promise<{ into: string; changes: Partial<RuntimeConfig> }>][] = [
  ['a state folder and a DuckDB file', async (folder) => ({ into: folder.into, changes: {} })],
  [
    'a PostgreSQL store and warehouse',
    async () => {
      const [store, warehouse] = [await address('store', 'store'), await address('dw', 'dw')];
      return { into: warehouse.shown, changes: { store, warehouse } };
    },
  ],
];

/** The requests that reached the service for a URL, and the charges of the requests with these ids. */
function billOf(service: Service) {
  const byRequest = service.purchases.byRequest();
  return {
    calls: (url: string) => service.log.filter(({ ids }) => ids.includes(url)).length,
    charge: (id: string | null) => byRequest.get(id ?? '') ?? 0,
  };
}

it.each(places)('the attempts and costs of each row are those of the bill, in %s', async (_name, place) => {
  const folder = Folder.ofTest();
  const service = await startService({ rows: { failureRate: 0.3 } });
  onTestFinished(() => service.close());
  const { into, changes } = await place(folder);
  const config = folder.config(service.url, { ...serverOf(temporal), ...changes });
  const plain = plainRows(20);
  const [first] = plain as [(typeof plain)[number]];
  folder.write([...plain, ['20', 'Again', first[2]], ['21', 'Bad', 'nope']]);
  service.next({ what: 'contents', how: 'lost' });
  const run = (more: object = {}) => enrich(folder, config, { into, batch: 5, csv: null, ...more });
  expect((await run()).summary).toMatchObject({ phase: 'done', unknownOutcomes: 1 });

  const opened = async () => {
    const runtime = await openRuntime(config);
    onTestFinished(() => runtime.close('now'));
    return runtime.rows;
  };
  const rows = await opened();
  const { calls, charge } = billOf(service);
  const urls = plain.map(([, , url]) => url);
  const traces = [];
  for (const [index, url] of urls.entries()) {
    const trace = await rows.trace('rows', index === 3 ? { url } : { row: index + 1 });
    expect(trace).toMatchObject({ row: index + 1, unit: url, requests: calls(url), problems: [], reason: null });
    expect(trace.input.map(({ value }) => value)).toEqual(plain[index]);
    for (const { outcome, requestId, requestMicros } of trace.attempts)
      if (outcome === 'landed') expect(requestMicros).toBe(charge(requestId));
    expect(['success', 'failed']).toContain(trace.state);
    expect(trace).toMatchObject({ costMicros: trace.state === 'failed' ? 0 : 1000, costIsWhole: true });
    expect(trace.loaded?.requestId).toBe(trace.attempts.at(-1)?.requestId);
    traces.push(trace);
  }
  // One request was charged and got no answer; its units were bought again.
  expect(traces.filter(({ attempts }) => attempts[0]?.outcome === 'unknown')).toHaveLength(5);
  const landed = traces.reduce((sum, { costMicros }) => sum + costMicros, 0);
  const lost = [...service.log].find(({ fault }) => fault !== null);
  expect(landed + charge(lost?.requestId ?? null)).toBe(service.purchases.report().micros);

  const failed = await rows.failed('rows', { tags: [], limit: 100 });
  const wrong = traces.filter(({ state }) => state === 'failed');
  expect(wrong.length).toBeGreaterThan(0);
  expect(failed.byTag).toMatchObject([
    { tag: 'CRAWL_NOT_FOUND', rows: wrong.length + (wrong[0]?.row === 1 ? 1 : 0), retry: 'none' },
    { tag: 'INVALID_URL', status: 'invalid', rows: 1, units: 0, retry: 'none' },
  ]);
  for (const row of failed.listed.filter(({ unit }) => urls.includes(unit ?? '')))
    expect(row).toMatchObject({ attempts: calls(row.unit ?? ''), costMicros: 0, costIsWhole: true });
  expect((await rows.failed('rows', { tags: ['INVALID_URL'], limit: 5 })).listed).toMatchObject([
    { row: 22, attempts: 0, message: expect.stringContaining('nope') },
  ]);

  expect(await rows.trace('rows', { row: 21 })).toMatchObject({ sharedWith: { rows: 1, first: [1] }, unit: first[2] });
  expect(await rows.trace('rows', { row: 22 })).toMatchObject({
    state: 'invalid',
    reason: expect.stringMatching(/^INVALID_URL: .*nope/),
  });
  expect(await rows.trace('rows', { url: 'nope' })).toMatchObject({ row: 22, state: 'invalid' });

  // The second row leaves the file, and further rows come, of which one is bought.
  folder.write([...plain.filter((_, index) => index !== 1), ...plainRows(3, 100)]);
  const sent = service.log.length;
  await run({ limit: 20 });
  expect(service.log.length - sent).toBe(1);
  const later = await opened();
  const gone = await later.trace('rows', { url: urls[1] as string });
  expect(gone).toMatchObject({ state: 'vanished', row: null, unit: urls[1], requests: calls(urls[1] as string) });
  expect(gone.reason).toMatch(/^missing from the input since 20\d\d-.* UTC$/);
  expect(await later.trace('rows', { row: 21 })).toMatchObject({
    ...{ state: 'notBought', slice: { afterLimit: true }, loaded: null },
    reason: 'it is after --limit 20; run the command without --limit to buy it',
  });
  await expect(later.trace('rows', { row: 23 })).rejects.toThrow('--row: ');
  await expect(later.trace('rows', { url: 'https://unknown.example' })).rejects.toThrow(
    'has no row with the URL https://unknown.example.',
  );
});
