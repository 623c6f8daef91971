import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { startService } from '../../service/service.mjs';
import { runCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';

const cwd = folderOfFile();
const today = () => new Date().toISOString().slice(0, 10);

const service = ofFile(() => startService({ key: 'key-of-the-job' }));
let env: Record<string, string>;
beforeAll(async () => {
  env = {
    SEARCHFLOW_API_KEY: service.key,
    SEARCHFLOW_BASE_URL: service.url,
    SEARCHFLOW_BILL_URL: service.url,
    SEARCHFLOW_SERVICE_KEY: service.serviceKey,
    SEARCHFLOW_KEY_ID: service.bill.idOf(service.key),
  };
  const rows = Array.from({ length: 60 }, (_, index) => `Site ${index},https://example.com/${index}`);
  writeFileSync(join(cwd, 'sites.csv'), `name,site\n${rows.join('\n')}\n`);
});

const reconcile = async () => {
  const { code, out, err } = await runCommand(['usage', '--reconcile', '--since', '2d', '--json'], { cwd, env });
  expect(err).toBe('');
  return { code, ...(JSON.parse(out) as { total: Record<string, unknown>; days: Record<string, unknown>[] }) };
};

it('a job with a lost answer agrees with the bill, and purchases of another program do not', async () => {
  service.next({ what: 'contents', how: 'lost' });
  const enrich = ['enrich', 'sites.csv', '--url-column', 'site', '--batch', '10', '--yes', '--json'];
  expect((await runCommand(enrich, { cwd, env })).code).toBe(0);
  const { micros } = service.purchases.report();
  expect(micros).toBe(70_000);

  const explained = await reconcile();
  expect(explained).toMatchObject({
    code: 0,
    agrees: true,
    total: { journalDollars: 0.06, serviceDollars: 0.07, unknownOutcomes: 1, unexplainedDollars: 0 },
  });
  expect(explained.days.at(-1)).toMatchObject({ unknownDollars: 0.01 });

  service.bill.charge(service.key, today(), 'search', 2, 14_000);
  expect(await reconcile()).toMatchObject({ code: 1, agrees: false, total: { unexplainedDollars: 0.014 } });

  const { code, out, err } = await runCommand(['usage', '--reconcile'], {
    cwd,
    env: { ...env, SEARCHFLOW_SERVICE_KEY: '' },
  });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(/^SEARCHFLOW_SERVICE_KEY is not set\./);
});
