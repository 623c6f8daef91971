import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { eventContract } from '../../support/events/event-contract.js';
import { duckDbEvents, postgresEvents } from '../../support/events/event-databases.js';

const dir = mkdtempSync(join(tmpdir(), 'searchflow-events-'));
let postgres: Awaited<ReturnType<typeof postgresEvents>>;
beforeAll(async () => {
  postgres = await postgresEvents();
});
afterAll(async () => {
  await postgres?.close();
  rmSync(dir, { recursive: true, force: true });
});

describe('heavy loads of events in DuckDB', () => eventContract(duckDbEvents(dir), 'full'));

describe('heavy loads of events in PostgreSQL', () => eventContract(() => postgres.make(), 'full'));
