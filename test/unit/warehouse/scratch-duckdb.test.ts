import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { withScratchDuckDb } from '../../../src/warehouse/shared/scratch-duckdb.js';

it('the DuckDB that runs queries of others neither keeps secrets nor reads those that a person stored', async () => {
  await withScratchDuckDb(tmpdir(), async (connection) => {
    const found = await connection.runAndReadAll("SELECT current_setting('allow_persistent_secrets')");
    expect(found.getRows()).toEqual([[false]]);
    await connection.run('SELECT count(*) FROM duckdb_secrets()');
    await expect(connection.run('SET allow_persistent_secrets = true')).rejects.toThrow(/not allowed/);
  });
});
