export {
  isBareAddress,
  isLibpqForm,
  isPostgresUrl,
  isRemote,
  type PostgresAddress,
  parseAddress,
  rankOf,
  sslModes,
  strictest,
  whyPlain,
  withTlsOf,
} from '../core/connections/postgres-address.js';
export { identifier } from './identifier.js';
export { type Migration, migrate, OtherSchema, type Schema, schemaState } from './migrate.js';
export {
  BRIEF_MS,
  openPostgres,
  type PgLimits,
  type PgTransaction,
  type Postgres,
  type PostgresOptions,
} from './postgres.js';
export { missingRights } from './rights.js';
export { PostgresAway, PostgresRefused, problemOf } from './silence.js';
export { vacuum } from './vacuum.js';
