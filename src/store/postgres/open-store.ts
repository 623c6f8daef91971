import { STORE_SCHEMA } from '../../core/connections/postgres-address.js';
import { CodedError, UsageError } from '../../core/errors/coded-error.js';
import {
  migrate,
  OtherSchema,
  openPostgres,
  type Postgres,
  type PostgresOptions,
  parseAddress,
} from '../../postgres/index.js';
import { storeSchema } from './schema/store-schema.js';

/**
 * Connects to a store and migrates its schema. `url`: value of `SEARCHFLOW_STORE`. Throws `PostgresRefused`, `PostgresAway`, a
 * `UsageError` for a schema that is no store or of another version, or an `Error` if the database cannot be used as a store.
 */
export async function connectStore(url: string, options: PostgresOptions): Promise<Postgres> {
  const postgres = await openPostgres(parseAddress(url, STORE_SCHEMA), options);
  try {
    const [settings] = await postgres.query<{ encoding: string; isolation: string; version: string }>(
      `SELECT current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
         current_setting('server_version_num') AS version`,
    );
    const { shown } = postgres.address;
    if (Number(settings?.version) < 140_000)
      throw new CodedError(
        'postgres-unsuitable',
        `The store ${shown} runs on a PostgreSQL older than 14. Use PostgreSQL 14 or newer`,
      );
    if (settings?.encoding !== 'UTF8')
      throw new CodedError(
        'postgres-unsuitable',
        `The store ${shown} has the encoding ${settings?.encoding}. Use a database with the encoding UTF8`,
      );
    // A statement that waited for another process must see the rows which that process wrote.
    if (settings.isolation !== 'read committed')
      throw new CodedError(
        'postgres-unsuitable',
        `The store ${shown} has default_transaction_isolation = ${settings.isolation}. Set it to read committed`,
      );
    await migrate(postgres, storeSchema).catch((error: unknown) => {
      throw error instanceof OtherSchema
        ? new UsageError('schema-of-another-version', refusal(shown, error), { cause: error })
        : error;
    });
    return postgres;
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

function refusal(shown: string, { is }: OtherSchema): string {
  const what = is === null ? 'was not created by this version' : `is a ${is}`;
  return `The store ${shown} ${what} of searchflow. Use another schema (?schema=name)`;
}
