import { shellWord } from '../../core/text/shell-word.js';
import {
  identifier,
  missingRights,
  OtherSchema,
  type Postgres,
  type PostgresAddress,
  type Schema,
  schemaState,
} from '../../postgres/index.js';
import { livingWorkers } from '../../store/postgres/journal/process-heartbeat.js';
import type { DatabaseAddress, RuntimeConfig } from '../config/runtime-types.js';
import { isTeamAt, otherLimitsText, teamOf } from '../team/team.js';
import { type Found, ok, problem, warning } from './finding.js';
import { clockFinding } from './service.js';

/** Limit of each statement. */
const STATEMENT_MS = 5000;
/** Oldest supported PostgreSQL. */
const LEAST_VERSION = 140_000;

/** A database of the settings. */
export interface Database {
  readonly check: 'store' | 'warehouse' | 'source';
  readonly setting: string;
  readonly address: DatabaseAddress | null;
  readonly defaultSchema: string;
  /** The schema that searchflow makes there; null: it only reads. */
  readonly schema: Schema | null;
  /** Tables whose rights are needed; null: all. */
  readonly tables: readonly string[] | null;
}

interface Facts {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  readonly isolation: string;
  readonly readonly: boolean;
  readonly standby: boolean;
  readonly user: string;
  readonly database: string;
  readonly creates: boolean;
  readonly present: boolean;
  readonly uses: boolean;
  readonly now: number;
}

/** Findings about an open database: its server, schema, rights, encryption and clock. Only reads. */
export async function openFindings(
  postgres: Postgres,
  database: Database,
  config: RuntimeConfig,
): Promise<readonly Found[]> {
  const { schema: name, shown } = postgres.address;
  const began = Date.now();
  const limits = { statementMs: STATEMENT_MS };
  const [facts] = await postgres.query<Facts>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
       current_setting('transaction_read_only') = 'on' AS readonly, pg_is_in_recovery() AS standby,
       current_user AS user, current_database() AS database, has_database_privilege(current_database(), 'CREATE') AS creates,
       n.oid IS NOT NULL AS present, n.oid IS NULL OR has_schema_privilege(n.oid, 'USAGE') AS uses,
       (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
     FROM (SELECT) one LEFT JOIN pg_namespace n ON n.nspname = $1`,
    [name],
    limits,
  );
  if (facts === undefined) return [];
  const ended = Date.now();
  // The time of the database is between the two times here.
  const aheadMs = began > facts.now ? began - facts.now : ended < facts.now ? ended - facts.now : 0;
  const found = [
    ...serverFindings(facts, postgres.address, database),
    ...(database.schema === null ? [] : await schemaFindings(postgres, facts, database, database.schema, config)),
    ...encryptionFindings(postgres, shown),
    { ...clockFinding(aheadMs, `the database ${shown}`), check: `${database.check}-clock` },
  ];
  const isGood = found.every(({ level, check }) => level === 'ok' || check !== undefined);
  const first = ok(`${shown} runs PostgreSQL ${facts.version.split(' ', 1)[0]}, and accepts ${facts.user}.`);
  return isGood ? [first, ...found] : found;
}

/** The command that creates a database on the server of an address. */
export function createdb({ host, port, user }: PostgresAddress, name: string, options = ''): string {
  const login = user === null ? '' : ` -U ${shellWord(user)}`;
  return `createdb -h ${shellWord(host)} -p ${port}${login} ${options === '' ? '' : `${options} `}${shellWord(name)}`;
}

function serverFindings(facts: Facts, address: PostgresAddress, { check, schema }: Database): readonly Found[] {
  const { shown } = address;
  const found: Found[] = [];
  const isStore = check === 'store';
  if (schema !== null && facts.number < LEAST_VERSION)
    found.push(problem(`${shown} runs PostgreSQL ${facts.version}.`, 'Use PostgreSQL 14 or newer.'));
  if (schema !== null && facts.encoding !== 'UTF8')
    found.push(
      problem(
        `The database ${facts.database} has the encoding ${facts.encoding}.`,
        'Use a database with the encoding UTF8:',
        createdb(address, `${facts.database}_utf8`, '--encoding UTF8 --template template0'),
      ),
    );
  if (isStore && facts.isolation !== 'read committed')
    found.push(
      problem(
        `The store has default_transaction_isolation = ${facts.isolation}.`,
        'Set it to read committed, as the owner of the database:',
        `ALTER DATABASE ${identifier(facts.database)} SET default_transaction_isolation = 'read committed';`,
      ),
    );
  if (schema !== null && (facts.standby || facts.readonly)) {
    const what = facts.standby ? 'is a standby, which only reads' : 'is read-only (default_transaction_read_only)';
    const way = facts.standby
      ? problem(`${shown} ${what}.`, 'Name the primary server in the address.')
      : problem(
          `${shown} ${what}.`,
          'Let its user write, as the owner of the database, or remove the option from the address:',
          `ALTER DATABASE ${identifier(facts.database)} SET default_transaction_read_only = off;`,
        );
    found.push(way);
  }
  return found;
}

async function schemaFindings(
  postgres: Postgres,
  facts: Facts,
  { check, setting, tables }: Database,
  schema: Schema,
  config: RuntimeConfig,
): Promise<readonly Found[]> {
  const { schema: name, shown } = postgres.address;
  const [quoted, user] = [identifier(name), identifier(facts.user)];
  if (!facts.present) {
    if (facts.creates) return [ok(`The first command creates the schema ${name}.`)];
    return [
      problem(
        `${facts.user} may not create the schema ${name} in the database ${facts.database}.`,
        'Create it, as the owner of the database:',
        `CREATE SCHEMA ${quoted} AUTHORIZATION ${user};`,
      ),
    ];
  }
  if (!facts.uses)
    return [
      problem(
        `${facts.user} may not use the schema ${name}.`,
        'Grant it, as the owner of the schema:',
        `GRANT USAGE, CREATE ON SCHEMA ${quoted} TO ${user};`,
      ),
    ];
  const state = await schemaState(postgres, name, schema).catch((error: unknown) => {
    if (error instanceof OtherSchema) return error;
    throw error;
  });
  if (state instanceof OtherSchema)
    return [
      state.is === null
        ? problem(
            `The schema ${name} was not created by this version of searchflow.`,
            `Name another schema in ${setting} (?schema=name).`,
          )
        : problem(
            `The schema ${name} is a ${state.is} of searchflow, not a ${check}.`,
            `Name another schema in ${setting} (?schema=name).`,
          ),
    ];
  const missing = await missingRights(postgres, name, state === null ? [] : tables);
  // A store is not changed once its tables are there; a warehouse gets a view for each job.
  const needed = missing.filter(
    (right) =>
      !(check === 'store' && state !== null && state.missing.length === 0 && /^(CREATE|TEMPORARY) /.test(right)),
  );
  if (needed.length > 0) {
    const shownRights =
      needed.length > 4 ? `${needed.slice(0, 4).join(', ')} and ${needed.length - 4} more` : needed.join(', ');
    return [
      problem(
        `${facts.user} lacks rights on ${shown}: ${shownRights}.`,
        'Grant them, as the owner of the schema:',
        grantOf(needed, quoted, user),
      ),
    ];
  }
  const notes = check === 'store' && state !== null ? await otherWorkers(postgres, quoted, config) : [];
  if (state === null) return [ok(`The first command creates the tables in the schema ${name}.`)];
  if (state.newer.length > 0)
    return [
      ...notes,
      warning(
        `A newer version of searchflow has changed the schema ${name} (${state.newer.join(', ')}).`,
        'Update searchflow here, too: see docs/tasks/upgrade.md.',
      ),
    ];
  if (state.missing.length > 0)
    return [
      ...notes,
      ok(
        `The schema ${name} is of an earlier version; the next command updates it (${state.missing.map((one) => one.name).join(', ')}).`,
      ),
    ];
  return [...notes, ok(`The schema ${name} is of this version, and ${facts.user} has the rights for it.`)];
}

/** The statements that grant these rights. */
function grantOf(rights: readonly string[], schema: string, user: string): string {
  const onTables = rights.filter((right) => !/^(CREATE|TEMPORARY) /.test(right));
  return [
    ...(onTables.length > 0
      ? [`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${user};`]
      : []),
    ...rights.filter((right) => !onTables.includes(right)).map((right) => `GRANT ${right} TO ${user};`),
  ].join(' ');
}

/** Workers of the store with another key, and so another limit. */
async function otherWorkers(postgres: Postgres, schema: string, config: RuntimeConfig): Promise<readonly Found[]> {
  const own = teamOf(config);
  // A newer version may have changed the table.
  const all = await livingWorkers(postgres, schema, config.taskQueue, null).catch(() => []);
  const text = otherLimitsText(all.filter(({ team }) => team !== own && isTeamAt(team, config.origin)));
  if (text === null) return [];
  const [, problemText = text, mend = null] =
    /^Warning: (.+?\.) (To share .+)$/.exec(text.replace('Warning: w', 'Warning: W')) ?? [];
  return [{ ...warning(problemText, mend), check: 'workers' }];
}

function encryptionFindings({ address }: Postgres, shown: string): readonly Found[] {
  const { sslmode } = address.parameters;
  if (sslmode !== 'require' || address.parameters.sslrootcert !== undefined) return [];
  return [
    warning(
      `The connection to ${shown} is encrypted, and nothing verifies the server (sslmode=require).`,
      'Use sslmode=verify-full, with sslrootcert for an authority of your own.',
    ),
  ];
}
