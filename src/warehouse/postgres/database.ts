import type { Publisher } from '../../core/publish/publish-request.js';
import { isPostgresUrl } from '../../postgres/index.js';
import type { WarehouseDatabase } from '../shared/database.js';
import { createPostgresEvents } from './events/postgres-events.js';
import { createPostgresAgentRuns, createPostgresMonitors } from './monitors/postgres-monitors.js';
import { addressOf, Warehouse } from './open/warehouse.js';
import { createPostgresRows } from './rows/postgres-rows.js';

/** The form of an address, for messages. */
export const POSTGRES_FORM = 'postgres://host:5432/database';

/** Schemas of PostgreSQL databases. */
export const postgres: WarehouseDatabase = {
  form: POSTGRES_FORM,
  claims: isPostgresUrl,
  addressOf: (address) => addressOf(address).carried,
  identityOf: (address) => addressOf(address).shown,
  fileOf: () => null,
  whyNoFile: () => null,
  open(address, { credentialsFor, say = () => undefined, extensions, check }) {
    const url = credentialsFor?.(addressOf(address).carried)?.reveal() ?? address;
    const warehouse = new Warehouse(url, { say });
    // Loaded by the first publish, because few commands publish.
    const loaded = async () =>
      (await import('./publish/postgres-publisher.js')).postgresPublisher(warehouse, {
        ...{ say, credentialsFor, extensions },
      });
    const publisher: Publisher = {
      publish: async (request) => (await loaded()).publish(request),
      check: async (to) => (await loaded()).check(to),
    };
    return {
      rows: createPostgresRows({ url, say, check }, warehouse),
      events: createPostgresEvents(url, { say }, warehouse),
      monitors: createPostgresMonitors({ url, say }, warehouse),
      agentRuns: createPostgresAgentRuns(warehouse),
      publisher,
      close: () => warehouse.close(),
    };
  },
};
