import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SearchflowPlugin } from '../../../src/worker/index.js';

it.each([
  [{ baseUrl: 'http://api.example.com' }, /must begin with https/],
  [{ store: 'postgres://ann:canary@db.internal/etl' }, /^store \(not shown\) is on another host .*sslmode=verify-full/],
  [{ warehouseUrl: 'postgres://ann:canary@db.internal/dw' }, /^warehouseUrl \(not shown\) is on another host/],
  [{ warehouseUrl: 'postgres://ann:canary@db/dw?sslmod=disable' }, /^warehouseUrl .*did you mean sslmode/],
])('the plugin refuses an address of another host in plain text, without showing it: %j', (options, problem) => {
  const make = () => new SearchflowPlugin({ apiKey: 'canary-key', ...options });
  expect(make).toThrow(problem);
  expect(make).toThrow(/^(?!.*canary)/);
});

it.skipIf(process.platform === 'win32')(
  'the plugin refuses a state folder that others may write, unless an option trusts it',
  () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'searchflow-plugin-'));
    chmodSync(stateDir, 0o777);
    expect(() => new SearchflowPlugin({ apiKey: 'key', stateDir })).toThrow(
      /^stateDir: .* can be written by every user/,
    );
    expect(new SearchflowPlugin({ apiKey: 'key', stateDir, trustStateDir: true }).name).toBe('searchflow');
    rmSync(stateDir, { recursive: true });
  },
);
