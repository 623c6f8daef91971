import type { Publisher } from '../../core/publish-request.js';
import { isPostgresUrl } from '../../postgres/index.js';
import type { WarehouseDatabase } from '../shared/database.js';
import { createPostgresEvents } from './postgres-events.js';
import { createPostgresAgentRuns, createPostgresMonitors } from './postgres-monitors.js';
import { createPostgresRows } from './postgres-rows.js';
import { addressOf, Warehouse } from './warehouse.js';

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
      (await import('./postgres-publisher.js')).postgresPublisher(warehouse, {
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
