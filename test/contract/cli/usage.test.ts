import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
writeFileSync(join(cwd, 'in.csv'), 'name,site\nExample,https://example.com\n');

describe('searchflow', () => {
  it('reports all mistakes of flags and settings together, creates no file and prints no key (faults 54, 55)', async () => {
    const env = {
      SEARCHFLOW_API_KEY: 'canary 5f2e91c4',
      SEARCHFLOW_QPS: '0',
      SEARCHFLOW_QSP: '1',
      SEARCHFLOW_DEBUG: '1',
    };
    const { code, err } = await runCommand(['enrich', 'in.csv', '--batch', '0', '--delimiter', 'xx'], { cwd, env });
    expect(code).toBe(2);
    for (const name of [
      '--batch',
      '--delimiter',
      'SEARCHFLOW_API_KEY',
      'SEARCHFLOW_QPS:',
      'did you mean SEARCHFLOW_QPS?',
    ])
      expect(err).toContain(name);
    expect(err).not.toContain('canary');
    expect(readdirSync(cwd)).toEqual(['in.csv']);
  });

  it('prints only the URL of the sandbox on stdout, and ends at Ctrl-C', async () => {
    const running = startCommand(['sandbox', '--qps', '5', '--fault', 'nth=1 kind=status status=503'], { cwd });
    await running.says('\n');
    await running.says('until Ctrl-C');
    const url = running.out().trim();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const ask = () =>
      fetch(`${url}/contents`, {
        method: 'POST',
        headers: { 'x-api-key': 'k', 'content-type': 'application/json' },
        body: '{"urls":["https://example.com"]}',
      });
    expect((await ask()).status).toBe(503);
    expect((await ask()).status).toBe(200);
    running.child.kill('SIGINT');
    expect(await running.ended).toBe(130);
    expect(running.err()).toContain('Sandbox ended. Bill: $0.001 for 1 request.');
    expect(running.out().trim()).toBe(url);
  });
});
