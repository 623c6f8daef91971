import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../../src/worker/send-alert.js';
import { madeAlert } from '../../support/alerts/settings.js';
import { folderOfFile } from '../../support/files/folders.js';

const home = folderOfFile();

let written = 0;
/** A program of shell lines, started with an argument. */
function program(lines: string): readonly string[] {
  const file = join(home, `notify-${++written}`);
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
  return [file, join(home, `out-${written}`)];
}
const run = (command: readonly string[], timeoutMs = 10_000, signal?: AbortSignal) =>
  runCommand(madeAlert(), command, timeoutMs, signal);

it('gets the alert as JSON on standard input, and only a few variables, which are no secrets', async () => {
  process.env.SEARCHFLOW_API_KEY = 'canary-of-the-key';
  const command = program('cat > "$1"; env > "$1.env"');
  const alert = madeAlert('Job x is done; $(touch /tmp/no) `no`');
  expect(await runCommand(alert, command, 10_000)).toEqual({ ok: true });
  delete process.env.SEARCHFLOW_API_KEY;
  expect(JSON.parse(readFileSync(command[1] as string, 'utf8'))).toEqual(alert);
  const env = readFileSync(`${command[1]}.env`, 'utf8');
  expect(env).toContain(`SEARCHFLOW_ALERT_ID=${alert.id}\n`);
  expect(env).toContain('SEARCHFLOW_ALERT_TYPE=job.done\n');
  expect(env).toContain('SEARCHFLOW_ALERT_JOB=brands-1\n');
  expect(env).toContain(`SEARCHFLOW_ALERT_TEXT=${alert.text}\n`);
  expect(env).not.toContain('canary-of-the-key');
});

it('gets its arguments as they are: no shell reads them', async () => {
  const [file = '', out = ''] = program('printf %s "$2" > "$1"');
  expect(await run([file, out, '$(echo no); "a b" *'])).toEqual({ ok: true });
  expect(readFileSync(out, 'utf8')).toBe('$(echo no); "a b" *');
});

it('fails with its exit code and the last line of its errors, cut and without control characters', async () => {
  const sent = await run(program(`echo first >&2; printf 'mail \\033[31m%0300d' 7 >&2; exit 3`));
  expect(sent.ok).toBe(false);
  const { error } = sent as { error: string };
  expect(error).toMatch(/^the program ended with exit code 3: mail {2}\[31m0+$/);
  expect(error.length).toBeLessThan(250);
});

it('may write any amount, and may read nothing', async () => {
  expect(await run(program('head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2; exit 0'))).toEqual({
    ok: true,
  });
  expect(await run(program('exec <&-; exit 0'))).toEqual({ ok: true });
});

it('is killed when its time is up, with the processes that it has started', async () => {
  const command = program('(sleep 600 & echo $! > "$1"; wait)');
  const sent = await run(command, 500);
  expect(sent).toMatchObject({ ok: false, error: 'the program was killed, because it ran for more than 0.5 s' });
  const pid = Number(readFileSync(command[1] as string, 'utf8'));
  await expect.poll(() => isRunning(pid)).toBe(false);
});

it('is killed when the worker ends', async () => {
  const stop = new AbortController();
  const command = program('echo started > "$1"; sleep 600');
  const sent = run(command, 60_000, stop.signal);
  await expect.poll(() => existsSync(command[1] as string)).toBe(true);
  stop.abort();
  expect(await sent).toMatchObject({ ok: false, error: 'interrupted' });
});

it('that is gone, or cannot get the alert, is a failed attempt', async () => {
  const long = await runCommand(madeAlert('x'.repeat(3_000_000)), program('exit 0'), 10_000);
  expect(long).toMatchObject({ ok: false, error: 'the program cannot be started (E2BIG)' });
  expect(await run(['/no/such/program'])).toMatchObject({ ok: false, error: 'the program cannot be started (ENOENT)' });
});

/** A killed process of a parent that does not wait for it stays as a zombie. */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
