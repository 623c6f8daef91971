import { openPostgres, type Postgres, PostgresRefused, parseAddress } from '../../postgres/index.js';
import { STORE_SCHEMA } from '../../store/postgres/open-store.js';
import { storeSchema } from '../../store/postgres/schema/store-schema.js';
import { WAREHOUSE_SCHEMA } from '../../warehouse/index.js';
import { rowTableNames } from '../../warehouse/postgres/open/check-schema.js';
import { postgresSchema } from '../../warehouse/postgres/open/schema.js';
import type { DatabaseAddress, RuntimeConfig } from '../config/runtime-types.js';
import { createdb, type Database, openFindings } from './database-schema.js';
import { type Found, messageOf, ok, problem, type Setup, skipped } from './finding.js';

function databasesOf({ store = null, warehouse = null, source = null }: RuntimeConfig): readonly Database[] {
  return [
    {
      check: 'store',
      setting: 'SEARCHFLOW_STORE',
      address: store,
      defaultSchema: STORE_SCHEMA,
      schema: storeSchema,
      tables: null,
    },
    {
      check: 'warehouse',
      setting: 'SEARCHFLOW_WAREHOUSE_URL',
      address: warehouse,
      defaultSchema: WAREHOUSE_SCHEMA,
      schema: postgresSchema,
      tables: rowTableNames,
    },
    { check: 'source', setting: 'SEARCHFLOW_SOURCE_URL', address: source, defaultSchema: '', schema: null, tables: [] },
  ];
}

/** Checks the databases of the settings. Only reads: rights are asked for, not tried. */
export async function checkDatabases(setup: Setup): Promise<readonly Found[]> {
  const found = await Promise.all(databasesOf(setup.config).map((one) => databaseFindings(one, setup)));
  return found.flat();
}

async function databaseFindings(database: Database, setup: Setup): Promise<readonly Found[]> {
  const { check, setting, address, defaultSchema } = database;
  if (setup.isWrong(setting)) return [{ ...skipped(setting), check }];
  if (address === null) {
    const none = check === 'store' ? 'No PostgreSQL store: the state folder is the store, for one worker.' : null;
    return none === null ? [] : [{ ...ok(none), check }];
  }
  let postgres: Postgres | null = null;
  try {
    postgres = await openToExamine(address, defaultSchema);
    return (await openFindings(postgres, database, setup.config)).map((one) => ({ check, ...one }));
  } catch (error) {
    return [{ ...refusal(error, database), check }];
  } finally {
    await postgres?.close().catch(() => undefined);
  }
}

/** Opens a database for one check, with one connection and without a retry. */
export function openToExamine(address: DatabaseAddress, defaultSchema: string): Promise<Postgres> {
  return openPostgres(parseAddress(address.url.reveal(), defaultSchema), {
    applicationName: 'searchflow doctor',
    max: 1,
    patienceMs: 0,
  });
}

/** Why the database cannot be used, with what to do. */
function refusal(error: unknown, { setting, defaultSchema, address }: Database): Found {
  const text = `${messageOf(error).replace(/\. Start it, or correct its address$/, '')} (${setting}).`;
  const code = error instanceof PostgresRefused ? error.code : ((error as { readonly code?: unknown }).code ?? null);
  if (code === '28P01') return problem(text, `Correct the password in ${setting}, PGPASSWORD or ~/.pgpass.`);
  if (code === '28000')
    return problem(
      text,
      `Correct the user in ${setting}, or let pg_hba.conf of the server accept this machine, user and encryption.`,
    );
  if (code === '3D000') {
    const mend = `Create the database, or correct its name in ${setting}`;
    if (address === null) return problem(text, `${mend}.`);
    const parsed = parseAddress(address.url.reveal(), defaultSchema);
    return problem(text, `${mend}:`, createdb(parsed, parsed.database));
  }
  if (code === '42501') return problem(text, 'Grant the right to this user, as the owner of the database.');
  if (/does not support SSL/i.test(text))
    return problem(text, 'Turn on TLS on the server, or write sslmode=disable if the network is private.');
  if (/certificate|altname|self.signed/i.test(text))
    return problem(
      text,
      `Name the authority of the server's certificate in ${setting} (sslrootcert=/path/ca.pem), and its host as in the certificate.`,
    );
  if (/^53/.test(String((error as { readonly cause?: { readonly code?: unknown } }).cause?.code ?? '')))
    return problem(text, 'Raise max_connections of the server, or connect through PgBouncer.');
  if (/ENOTFOUND|EAI_AGAIN/.test(text))
    return problem(text, `Correct the host in ${setting}, or the DNS of this machine.`);
  if (/ECONNREFUSED|ENOENT/.test(text))
    return problem(text, `Start the server, or correct the host and port in ${setting}.`);
  return problem(text, `Open the way to the server (firewall, VPN), or correct the host and port in ${setting}.`);
}
