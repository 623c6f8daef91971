import { chmodSync } from 'node:fs';
import { expect, it } from 'vitest';
import { priceTables } from '../../../src/core/purchase/prices.js';
import { aloneConfig } from '../../../src/worker/host/alone.js';
import { readOptions } from '../../../src/worker/host/plugin-options.js';
import { recordConfig } from '../../../src/worker/host/record.js';
import { SearchflowPlugin, type SearchflowPluginOptions } from '../../../src/worker/index.js';
import { folderOfTest } from '../../support/files/folders.js';

/** The settings with which a worker with a record runs. */
const recorded = (options: SearchflowPluginOptions & { readonly stateDir: string }) => {
  const values = readOptions(options);
  return recordConfig(values, aloneConfig(values));
};

it.each([
  [{ baseUrl: 'http://api.example.com' }, /must begin with https/],
  [{ store: 'postgres://ann:canary@db.internal/etl' }, /^store: .*\(not shown\) is on another host .*verify-full/],
  [{ warehouseUrl: 'postgres://ann:canary@db.internal/dw' }, /^warehouseUrl: .*\(not shown\) is on another host/],
  [{ warehouseUrl: 'postgres://ann:canary@db/dw?sslmod=disable' }, /^warehouseUrl: .*did you mean sslmode/],
  [{ hosts: ['postgres://u:canary@h'] }, /^hosts: .*\(not shown\) is not a list of database servers/],
])('the plugin refuses an address that it cannot use, without showing it: %j', (options, problem) => {
  const open = () => new SearchflowPlugin({ apiKey: 'canary-key', stateDir: 'state', ...options });
  expect(open).toThrow(problem);
  expect(open).toThrow(/^(?!.*canary)/);
});

it.each([
  [
    { qps: 'x', foo: 1 },
    'foo is not a field of SearchflowPlugin; its fields are apiKey, ',
    'qps must be a whole number from 1 to 10000 (got "x").',
  ],
  [{ apikey: 'canary' }, 'apikey is not a field of SearchflowPlugin; did you mean apiKey?'],
  [
    { canarykeyoftheservice: 1 },
    'a name that is not shown is not a field of SearchflowPlugin; its fields are apiKey, ',
  ],
  [{ 'canary-1': 1 }, 'a name that is not shown is not a field of SearchflowPlugin; '],
  [{ qps: 0.5, concurrency: 0 }, 'qps must be ', 'concurrency must be a whole number from 1 to 256 (got 0).'],
  [{ concurrency: 1e9 }, 'concurrency must be a whole number from 1 to 256 (got 1000000000).'],
  [{ apiKey: 'canary\nkey' }, 'apiKey: the value (not shown) has white space'],
  [{ headers: 'Bearer canary' }, 'headers must be an object (got a value that is not shown).'],
  [{ headers: { trace: 'canary\r\nx: y' } }, 'header "trace" has characters that are not allowed in a header.'],
  [{ headers: { 'X-Api-Key': 'canary' } }, 'header "x-api-key" is set by the client.'],
  [{ headers: { Authorization: 'canary' } }, 'header "authorization" is set by the client.'],
  [{ headers: { 'Bearer canary': 'x' } }, 'a header has a name that is not valid.'],
  [{ beta: ['canary\n'] }, 'header "exa-beta" has characters'],
  [{ prices: [{}] }, 'prices: the value is not a list', '; 0.contentsPage: '],
  [{ maxCostPerJob: 1e300 }, 'maxCostPerJob must be a number from 0 to 1000000000 (got 1e+300).'],
  [{ origin: 'https://u:canary@h' }, 'origin: the value (not shown) may contain a password'],
  [{ prices: [] }, 'price tables: the list: '],
  [{ hosts: 'u:canary@h' }, 'hosts must be a list of texts (got a value that is not shown).'],
  [{ rateProfile: 'postgres://u:canary@h' }, 'rateProfile: the value (not shown'],
  [{ qps: 'canary:canary@h' }, 'qps must be a whole number from 1 to 10000 (got a text that is not shown).'],
  [{ rateProfile: 'fast' }, "'fast' is not a rate profile; use contract, "],
  [{ rateProfile: { name: 'x', buckets: [] } }, 'rateProfile: the value is not a rate profile: buckets: '],
  [{ say: 'x', operations: 1 }, 'operations must be true or false (got 1).', 'say: the value must be a function.'],
  [
    { maxCostPerJob: -1, beta: 'x' },
    'maxCostPerJob must be a number from 0 to 1000000000 (got -1).',
    'beta must be a list of texts',
  ],
])('the plugin refuses wrong options in its constructor, all of them at once: %j', (options, ...problems) => {
  const make = () => new SearchflowPlugin({ apiKey: 'key', stateDir: 'state', ...options } as never);
  for (const problem of problems) expect(make).toThrow(problem);
  expect(make).toThrow(/^(?!.*canary)/);
});

it.each([
  [{ paths: ['.'], maxCostPerJob: 5 }, 'paths, maxCostPerJob: jobs need a record. Pass stateDir or store.'],
  [{ limiter: { acquire: async () => null } }, 'limiter: the value must have the functions of a Limiter'],
  [{ limiter: 5 }, 'limiter: the value must have the functions of a Limiter'],
  [{ limiter: {}, stateDir: 'state' }, 'limiter is for a worker without a record'],
])('the plugin refuses options that do not fit its record: %j', (options, problem) => {
  expect(() => new SearchflowPlugin({ apiKey: 'key', ...options } as never)).toThrow(problem);
});

it.each([undefined, null, 'key', []])('the plugin refuses %j instead of its options', (options) => {
  expect(() => new SearchflowPlugin(options as never)).toThrow('SearchflowPlugin takes an object of options, such as ');
});

it('the plugin accepts whole price tables and headers of its own', () => {
  const options = { prices: priceTables, headers: { trace: 'on' }, beta: ['b'], keyQps: 20, qps: 10 };
  expect(new SearchflowPlugin({ apiKey: 'key', ...options }).name).toBe('searchflow.SearchflowPlugin');
});

it('the plugin refuses a missing API key, and takes undefined options as absent', () => {
  expect(() => new SearchflowPlugin({} as never)).toThrow('apiKey is missing');
  expect(new SearchflowPlugin({ apiKey: 'key', qps: undefined, rateProfile: 'boost' } as never).name).toBe(
    'searchflow.SearchflowPlugin',
  );
});

it.skipIf(process.platform === 'win32')(
  'the plugin refuses a state folder that others may write, unless an option trusts it',
  () => {
    const stateDir = folderOfTest();
    chmodSync(stateDir, 0o777);
    expect(() => recorded({ apiKey: 'key', stateDir })).toThrow(/^stateDir: .* can be written by every user/);
    expect(recorded({ apiKey: 'key', stateDir, trustStateDir: true }).stateDir).toBe(stateDir);
  },
);
