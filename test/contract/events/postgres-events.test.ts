import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { createPostgresEvents } from '../../../src/sinks/postgres/events/postgres-events.js';
import { eventContract } from '../../support/events/event-contract.js';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.mjs';

let server: PostgresServer;
let database: string;
let client: pg.Client;
beforeAll(async () => {
  server = await startPostgres();
  database = await server.database();
  client = new pg.Client(database);
  // Counts come as text, for fear of their size.
  client.setTypeParser(20, Number);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.stop();
});

describe('events in PostgreSQL', () => {
  let schemas = 0;
  eventContract(async () => {
    const schema = `events_${++schemas}`;
    return {
      events: createPostgresEvents(`${database}?schema=${schema}`),
      nul: '\\u0000',
      query: async (sql) => {
        await client.query(`SET search_path = '${schema}'`);
        return (await client.query(sql)).rows;
      },
    };
  });
});
