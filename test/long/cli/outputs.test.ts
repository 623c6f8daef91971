import { expect, it } from 'vitest';
import { runCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';

// `runCommand` compares each output of --json with the schema of its command: a field that the schema lacks fails the test.
it('the output of --json of commands that list, trace, report and set up fits its schema', async () => {
  const folder = Folder.ofTest();
  folder.write([...plainRows(40), ['r41', 'no URL', ''], ['r42', 'bad URL', 'not a url']]);
  const env = { HOME: folder.dir, SEARCHFLOW_ALERT_COMMAND: '/bin/false', SEARCHFLOW_ALERT_ON: 'all' };
  const kind = async (line: string, codes: readonly number[] = [0]) => {
    const { code, out, err } = await runCommand([...line.split(' '), '--json'], { cwd: folder.dir, env });
    expect(codes, `${line}: ${err}`).toContain(code);
    return JSON.parse(out) as { readonly kind: string; readonly [field: string]: unknown };
  };
  const { job, warehouse } = (await kind(`enrich ${folder.input} --url-column url --yes`)) as unknown as {
    readonly job: string;
    readonly warehouse: { readonly error: number };
  };
  const failed = await kind(`failed ${job}`);
  expect(failed).toMatchObject({ kind: 'failed', rows: warehouse.error + 2 });
  for (const row of [1, 41, 42]) expect(await kind(`trace ${job} --row ${row}`)).toMatchObject({ kind: 'trace', row });
  expect(await kind(`report ${job}`)).toMatchObject({ kind: 'report', about: 'job' });
  expect(await kind('report team')).toMatchObject({ kind: 'report', about: 'team' });
  expect(await kind('alerts test', [1])).toMatchObject({ kind: 'alertTest', receivers: [{ receiver: 'command' }] });
  expect(await kind('agent sync')).toMatchObject({ kind: 'agent-sync' });
  expect(await kind(`retry ${job} --dry-run`)).toMatchObject({ kind: 'retryPlan' });
  expect(await kind('init made')).toMatchObject({ kind: 'init', kept: [] });
  expect(await kind('doctor', [0, 1])).toMatchObject({ kind: 'doctor' });
  expect(await kind(`wait ${job}`)).toMatchObject({ kind: 'summary', job });
  expect(await kind(`status ${job}`)).toMatchObject({ kind: 'summary', job });
});
