import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { sharedPostgres } from '../../support/postgres.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ failureRate: 0, textBytes: 100, latencyMs: 50 });
});
afterAll(() => sandbox?.close());

const COMMANDS = 3;
const ROWS = 40;
const urlsOf = (name: string) => Array.from({ length: ROWS }, (_, row) => `https://${name}-${row}.example/`);

/**
 * Three commands that start together; each writes a CSV of its own. `one`: all have the same input. `named`: all have the same `--job` name.
 */
async function atOnce({ store, one, named }: { store: boolean; one: boolean; named: boolean }) {
  const folder = Folder.ofTest();
  const environment = {
    SEARCHFLOW_API_KEY: 'key-of-the-tests',
    SEARCHFLOW_BASE_URL: sandbox.url,
    SEARCHFLOW_STATE_DIR: folder.stateDir,
    XDG_STATE_HOME: folder.dir,
    ...(store ? { SEARCHFLOW_STORE: await sharedPostgres().database() } : {}),
  };
  const into = store ? ['--into', await sharedPostgres().database()] : [];
  sandbox.reset();
  const commands = Array.from({ length: COMMANDS }, (_, index) => {
    const name = one ? 'all' : `file${index}`;
    const csv = `out${index}.csv`;
    writeFileSync(join(folder.dir, `${name}.csv`), `url\n${urlsOf(name).join('\n')}\n`);
    const args = ['enrich', `${name}.csv`, ...(named ? ['--job', 'shared'] : []), ...into];
    const running = startCommand([...args, '--csv', csv, '--batch', '5', '--qps', '20', '--yes'], {
      cwd: folder.dir,
      env: environment,
    });
    const delivered = () =>
      parse<{ url: string; status: string }>(readFileSync(join(folder.dir, csv)), { columns: true, bom: true }).map(
        ({ url, status }) => [url, status],
      );
    return { ...running, name, delivered };
  });
  onTestFinished(async () => {
    for (const { child } of commands) child.kill('SIGKILL');
    await Promise.all(commands.map(({ ended }) => ended));
  });
  return { commands, codes: await Promise.all(commands.map(({ ended }) => ended)) };
}

const rowsOf = (name: string) => urlsOf(name).map((url) => [url, 'success']);
const kinds = [{ store: false }, { store: true }];

it.each(
  kinds.flatMap((kind) => [
    { ...kind, one: true, named: true },
    { ...kind, one: false, named: false },
  ]),
)(
  'fault 27: three commands at once each deliver their rows, bought once ($store, $one, $named)',
  async (how) => {
    const { commands, codes } = await atOnce(how);
    expect(codes, commands.map(({ err }) => err()).join('\n---\n')).toEqual(Array(COMMANDS).fill(0));
    for (const { name, delivered } of commands) expect(delivered()).toEqual(rowsOf(name));
    expect(boughtAgain(sandbox)).toEqual({});
    expect(sandbox.bill().units).toBe(how.one ? ROWS : COMMANDS * ROWS);
  },
  180_000,
);

it.each(kinds)(
  'fault 27: of three files with one --job name one is enriched, the others are refused ($store)',
  async (kind) => {
    const { commands, codes } = await atOnce({ ...kind, one: false, named: true });
    expect(codes.toSorted(), commands.map(({ err }) => err()).join('\n---\n')).toEqual([0, 2, 2]);
    const [first] = commands.filter((_, index) => codes[index] === 0);
    expect(first?.delivered()).toEqual(rowsOf(first?.name ?? ''));
    for (const [index, { name, err }] of commands.entries())
      if (codes[index] !== 0)
        expect(err()).toMatch(
          new RegExp(`already exists for .*${first?.name}\\.csv\\. Use another --job name for .*${name}\\.csv`),
        );
    expect(sandbox.bill().units).toBe(ROWS);
  },
  180_000,
);
