import { isPostgresUrl } from '../../postgres/index.js';
import { createPublisher } from '../publish/create-publisher.js';
import type { WarehouseDatabase } from '../shared/database.js';
import { createPostgresEvents } from './events/postgres-events.js';
import { createPostgresMonitors } from './monitors/postgres-monitors.js';
import { addressOf, Warehouse } from './open/warehouse.js';
import { postgresSource } from './publish/postgres-source.js';
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
  open(address, { credentialsFor, say, extensions }) {
    const url = credentialsFor?.(addressOf(address).carried)?.reveal() ?? address;
    const warehouse = new Warehouse(url, { say });
    return {
      rows: createPostgresRows({ url, say }, warehouse),
      events: createPostgresEvents(url, { say }, warehouse),
      monitors: createPostgresMonitors({ url, say }, warehouse),
      publisher: createPublisher({ ...postgresSource(warehouse, say), credentialsFor, extensions }),
      close: () => warehouse.close(),
    };
  },
};
