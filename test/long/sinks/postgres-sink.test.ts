import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe } from 'vitest';
import { createPostgresSink } from '../../../src/sinks/index.js';
import { type SharedPostgres, sharedPostgres } from '../../support/postgres.js';
import { pgQuery } from '../../support/sinks/pg-query.js';
import { longSinkContract } from '../../support/sinks/sink-contract.js';

const here = fileURLToPath(new URL('../../support/sinks/', import.meta.url));
let server: SharedPostgres;
let database: string;
beforeAll(async () => {
  server = sharedPostgres();
  database = await server.database();
});

let schemas = 0;
const newSchema = () => `${database}?schema=sink_${process.pid}_${++schemas}`;

describe('a PostgreSQL sink', () => {
  longSinkContract(() => {
    const url = newSchema();
    const sink = createPostgresSink({ url });
    return {
      sink,
      query: (sql) => pgQuery(url, sql),
      spawnLoader: (batchesFile) => spawn(process.execPath, [join(here, 'loader.mjs'), url, batchesFile]),
      release: async () => undefined,
      nul: '\\u0000',
    };
  });
});
