import { describe, expect, it, onTestFinished } from 'vitest';
import { openPostgres, parseAddress } from '../../../src/postgres/index.js';
import { startCluster } from '../../support/jobs/cluster.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { ofFile } from '../../support/of-file.js';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../../support/pgbouncer.js';
import { startPostgres } from '../../support/postgres-server.mjs';
import { temporalOfFile } from '../../support/temporal.js';

// PgBouncer is not installed by npm, so the tests run only where the machine has it.
describe.runIf(hasPgBouncer)('PgBouncer before store and warehouse', () => {
  const temporal = temporalOfFile();
  const server = ofFile(startPostgres);

  it.each(['session', 'transaction'])('with pool_mode = %s handles a job of two workers', async (mode) => {
    const rows = plainRows(200);
    let pooler: PgBouncer | undefined;
    const cluster = await startCluster(temporal, {
      rows,
      sandbox: { latencyMs: 20 },
      between: async (postgres) => {
        pooler = await startPgBouncer(postgres, mode);
        return pooler.urlOf;
      },
    });
    onTestFinished(async () => {
      await cluster.close();
      await pooler?.stop();
    });
    const { folder, sandbox, warehouse } = cluster;
    const by = pooler?.urlOf(warehouse) ?? '';
    cluster.start('b', ['worker']);
    const command = cluster.start('a', ['enrich', folder.input, '--into', by, '--csv', folder.csv, '--batch', '10']);
    expect([await command.ended, command.err()]).toEqual([0, expect.not.stringContaining('Waiting for the database')]);
    const loaded = await cluster.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM enriched_rows WHERE status = 'success'`,
    );
    expect(loaded).toEqual([{ n: rows.length }]);
    expect(boughtAgain(sandbox)).toEqual({});
  });

  it.each([
    ['statement', '', /refused: .*statement pooling mode.*; set the pooler's pool_mode to session or transaction$/],
    ['session', '?options=-c%20work_mem%3D8MB', /refused: unsupported startup parameter.*; remove that parameter/],
  ])('with pool_mode = %s and the parameters "%s" is refused with a remedy', async (mode, parameters, sentence) => {
    const pooler = await startPgBouncer(server, mode);
    onTestFinished(() => pooler.stop());
    const address = parseAddress(`${pooler.urlOf(await server.database())}${parameters}`, 'searchflow_store');
    const postgres = await openPostgres(address, { applicationName: 'test', max: 1 });
    await expect(postgres.transaction((tx) => tx.query('SELECT 1'))).rejects.toThrow(sentence);
    await postgres.close();
  });
});
