import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, inject, it, onTestFinished } from 'vitest';
import { killAllOf } from '../../support/jobs/processes.js';
import { fileNamespace } from '../../support/temporal.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const example = (file: string) => join(root, 'examples', 'monitors', file);

it.runIf(process.platform !== 'win32')(
  'examples/monitors pauses over the weekend and loads runs into DuckDB on the sandbox, and its query returns rows',
  async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'searchflow-example-'));
    const { PATH = '' } = process.env;
    const env = {
      ...{ PATH, HOME: cwd, XDG_STATE_HOME: cwd, SEARCHFLOW_STATE_DIR: join(cwd, 'state') },
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: fileNamespace(),
      SEARCHFLOW: `${process.execPath} ${join(root, 'dist', 'cli', 'main.js')}`,
    };
    onTestFinished(() => {
      killAllOf(join(cwd, 'state'));
      rmSync(cwd, { recursive: true, force: true });
    });
    const child = spawn('sh', [example('weekend.sh')], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect([child.exitCode, err]).toEqual([0, expect.stringContaining('Quiet hours weekend')]);
    expect(out).toContain('weekend: fri 20:00 to mon 07:00 (Europe/Berlin), team=growth');
    const sites = await readDuckDb(join(cwd, 'out', 'monitors.duckdb'), readFileSync(example('question.sql'), 'utf8'));
    expect(sites.length).toBeGreaterThan(0);
    expect(sites[0]).toMatchObject({ runs: '1', first_found: expect.any(String) });
  },
  180_000,
);
