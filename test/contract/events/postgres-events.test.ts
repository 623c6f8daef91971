import { afterAll, beforeAll, describe } from 'vitest';
import { eventContract } from '../../support/events/event-contract.js';
import { postgresEvents } from '../../support/events/event-databases.js';

let postgres: Awaited<ReturnType<typeof postgresEvents>>;
beforeAll(async () => {
  postgres = await postgresEvents();
});
afterAll(() => postgres?.close());

describe('events in PostgreSQL', () => eventContract(() => postgres.make()));
