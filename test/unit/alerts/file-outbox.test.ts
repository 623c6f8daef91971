import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { FileOutbox } from '../../../src/store/file/file-outbox.js';
import { madeAlert, outboxContract } from '../../support/alerts/outbox-contract.js';

const home = mkdtempSync(join(tmpdir(), 'searchflow-outbox-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

let opened = 0;
const folder = () => join(home, String(++opened), 'alerts');

outboxContract('FileOutbox', async () => {
  const dir = folder();
  let now = Date.now();
  return {
    outbox: new FileOutbox(dir, () => now),
    pass: async (ms) => {
      now += ms;
    },
  };
});

it('an outbox in a folder that does not exist is empty, and looking for alerts creates nothing', async () => {
  const dir = folder();
  const outbox = new FileOutbox(dir);
  expect(await outbox.claim('webhook', 'me', 1000)).toBeNull();
  expect(await outbox.list(10)).toEqual([]);
  await outbox.prune(1000);
  expect(() => statSync(dir)).toThrow('ENOENT');
});

it('a damaged file of an alert hides no other alert', async () => {
  const dir = folder();
  const outbox = new FileOutbox(dir);
  await outbox.add(madeAlert('whole'), ['webhook'], 60_000);
  writeFileSync(join(dir, 'waiting', `alert_${'0'.repeat(32)}.json`), '{"alert": {"id"');
  writeFileSync(join(dir, 'waiting', `alert_${'1'.repeat(32)}.json`), '{"alert": {}, "deliveries": 1}');
  expect((await outbox.claim('webhook', 'me', 1000))?.alert.text).toBe('whole');
  expect(await outbox.list(10)).toHaveLength(1);
});

it('files of alerts are readable only for their user', async () => {
  const dir = folder();
  await new FileOutbox(dir).add(madeAlert(), ['webhook'], 60_000);
  const [file] = readdirSync(join(dir, 'waiting'));
  expect(statSync(join(dir, 'waiting', file as string)).mode & 0o777).toBe(0o600);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
});
