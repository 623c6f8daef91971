import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { beforeAll, inject } from 'vitest';
import type { PostgresServer } from './postgres-server.mjs';

/** The run's PostgreSQL server, as one test file sees it: databases of its own. */
export type SharedPostgres = Pick<PostgresServer, 'port' | 'password' | 'urlOf' | 'database'>;

export function sharedPostgres(): SharedPostgres {
  const base = new URL(inject('postgresUrl'));
  const urlOf = (database: string) => Object.assign(new URL(base), { pathname: database }).href;
  return {
    port: Number(base.port),
    password: base.password,
    urlOf,
    async database(name = 'db') {
      const unique = `${name}_${randomBytes(4).toString('hex')}`;
      const client = new pg.Client({ connectionString: base.href });
      await client.connect();
      try {
        await client.query(`CREATE DATABASE ${unique}`);
      } finally {
        await client.end();
      }
      return urlOf(unique);
    },
  };
}

/** Gives addresses of new schemas in a database of the test file. */
export function schemasOfFile(): () => string {
  let database = '';
  let schemas = 0;
  beforeAll(async () => {
    database = await sharedPostgres().database();
  });
  return () => `${database}?schema=test_${++schemas}`;
}
