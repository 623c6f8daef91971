import { STORE_SCHEMA, WAREHOUSE_SCHEMA } from '../../core/connections/postgres-address.js';
import { codeOfError } from '../../core/errors/code-of.js';
import { errorFixes } from '../../core/errors/registry.js';
import type { Finding } from '../../core/team-output-schemas.js';
import { sentence } from '../../core/text/count.js';
import { shellWord } from '../../core/text/shell-word.js';
import {
  identifier,
  missingRights,
  openPostgres,
  type Postgres,
  type PostgresAddress,
  parseAddress,
  type Schema,
  schemaState,
} from '../../postgres/index.js';
import { livingWorkers } from '../../store/postgres/journal/process-heartbeat.js';
import { storeSchema } from '../../store/postgres/schema/store-schema.js';
import { postgresSchema } from '../../warehouse/postgres/schema.js';
import { rowTableNames } from '../../warehouse/rows/row-tables.js';
import type { ConfigSources } from '../config/config.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { type SettingName, settings } from '../config/settings.js';
import { isTeamAt, otherLimitsText, teamOf } from '../store/team.js';

export type { Finding } from '../../core/team-output-schemas.js';

/** Difference of clocks, in ms, that tokens, watermarks and ages of answers tolerate, and from which work fails. */
const SKEW_MS = 5000;
const LARGE_SKEW_MS = 60_000;

export interface Setup extends Pick<ConfigSources, 'env' | 'cwd'> {
  /** The settings; a wrong one has its default. */
  readonly config: RuntimeConfig;
  /** Whether one of these settings is wrong, so that a check that needs it says nothing. */
  isWrong(...names: readonly SettingName[]): boolean;
}

export const fine = (check: string, why: string, mend: string | null = null): Finding => ({
  check,
  ok: true,
  why,
  mend,
});
export const bad = (check: string, why: string, mend: string): Finding => ({ check, ok: false, why, mend });

/** The finding about an error, with the sentence of its code. */
export const badBy = (check: string, error: unknown): Finding =>
  bad(check, messageOf(error), errorFixes[codeOfError(error)]);

/** The message of an error, as a sentence. */
export const messageOf = (error: unknown): string =>
  sentence(error instanceof Error ? error.message || error.name : String(error));

/** Compares the clock of this machine with another one, which was read between `began` and `ended`. */
export function clockFinding(check: string, began: number, ended: number, there: number, other: string): Finding {
  const aheadMs = began > there ? began - there : ended < there ? ended - there : 0;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= SKEW_MS) return fine(check, `The clock agrees with that of ${other}.`);
  const text = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${other}.`;
  const mend = 'Set the clock by NTP:\n  sudo timedatectl set-ntp true';
  return Math.abs(aheadMs) > LARGE_SKEW_MS ? bad(check, text, mend) : fine(check, text, mend);
}

/** Limit of each statement, in ms. */
const STATEMENT_MS = 5000;

/** A database of the settings. `schema`: what searchflow makes there, null if it only reads; `tables`: whose rights are needed, null for all. */
export interface Database {
  readonly check: 'store' | 'warehouse' | 'source';
  readonly setting: 'store' | 'warehouseUrl' | 'sourceUrl';
  readonly defaultSchema: string;
  readonly schema: Schema | null;
  readonly tables: readonly string[] | null;
}

const databases: readonly Database[] = [
  { check: 'store', setting: 'store', defaultSchema: STORE_SCHEMA, schema: storeSchema, tables: null },
  {
    check: 'warehouse',
    setting: 'warehouseUrl',
    defaultSchema: WAREHOUSE_SCHEMA,
    schema: postgresSchema,
    tables: rowTableNames,
  },
  { check: 'source', setting: 'sourceUrl', defaultSchema: '', schema: null, tables: [] },
];

/** Checks the databases of the settings: login, encryption, version, rights and clock. Only reads: rights are asked for, not tried. */
export async function checkDatabases({ config, isWrong }: Setup): Promise<readonly Finding[]> {
  const found = await Promise.all(
    databases.map(async (database) => {
      const { check, setting, defaultSchema } = database;
      const url = config[check]?.url.reveal();
      if (url === undefined || isWrong(setting)) return [];
      const address = parseAddress(url, defaultSchema);
      let postgres: Postgres | null = null;
      try {
        postgres = await openPostgres(address, { applicationName: 'searchflow doctor', max: 1, patienceMs: 0 });
        return await openFindings(postgres, database, config);
      } catch (error) {
        const isMissing = (error as { readonly code?: unknown }).code === '3D000';
        const mend = `Create the database, or correct its name in ${settings[setting].variable}:\n  ${createdb(address)}`;
        const found = badBy(check, error);
        return [{ ...found, why: `${settings[setting].variable}: ${found.why}`, mend: isMissing ? mend : found.mend }];
      } finally {
        await postgres?.close().catch(() => undefined);
      }
    }),
  );
  return found.flat();
}

const createdb = ({ host, port, user, database }: PostgresAddress): string =>
  `createdb -h ${shellWord(host)} -p ${port}${user === null ? '' : ` -U ${shellWord(user)}`} ${shellWord(database)}`;

interface Facts {
  readonly version: number;
  readonly encoding: string;
  readonly isolation: string;
  readonly readonly: boolean;
  readonly user: string;
  readonly database: string;
  readonly creates: boolean;
  readonly present: boolean;
  readonly uses: boolean;
  readonly now: number;
}

async function openFindings(postgres: Postgres, database: Database, config: RuntimeConfig): Promise<Finding[]> {
  const { schema: name, shown, parameters } = postgres.address;
  const { check, schema } = database;
  const began = Date.now();
  const [facts] = await postgres.query<Facts>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
       current_setting('default_transaction_isolation') AS isolation,
       current_setting('transaction_read_only') = 'on' OR pg_is_in_recovery() AS readonly,
       current_user AS user, current_database() AS database, has_database_privilege(current_database(), 'CREATE') AS creates,
       n.oid IS NOT NULL AS present, n.oid IS NULL OR has_schema_privilege(n.oid, 'USAGE') AS uses,
       (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
     FROM (SELECT) one LEFT JOIN pg_namespace n ON n.nspname = $1`,
    [name],
    { statementMs: STATEMENT_MS },
  );
  if (facts === undefined) return [];
  const clock = clockFinding(`${check}-clock`, began, Date.now(), facts.now, `the database ${shown}`);
  const wrong = schema === null ? [] : serverFindings(facts, shown, check);
  if (wrong.length > 0) return [...wrong, clock];
  const found = schema === null ? null : await schemaFinding(postgres, facts, database, schema);
  const isOpen = parameters.sslmode === 'require' && parameters.sslrootcert === undefined;
  const mend = isOpen ? 'Nothing verifies the server (sslmode=require): use sslmode=verify-full.' : null;
  const good = fine(check, `${shown} accepts ${facts.user}.`, mend);
  return [found ?? good, clock, ...(check === 'store' && facts.present ? await otherWorkers(postgres, config) : [])];
}

function serverFindings(facts: Facts, shown: string, check: string): Finding[] {
  const alter = (what: string) =>
    `As the owner of the database:\n  ALTER DATABASE ${identifier(facts.database)} SET ${what};`;
  const wrong: readonly (readonly [is: boolean, why: string, mend: string])[] = [
    [facts.version < 140_000, `${shown} runs PostgreSQL ${facts.version}.`, 'Use PostgreSQL 14 or newer.'],
    [facts.encoding !== 'UTF8', `${shown} has the encoding ${facts.encoding}.`, 'Use a database with UTF8.'],
    [
      check === 'store' && facts.isolation !== 'read committed',
      `The store has default_transaction_isolation = ${facts.isolation}.`,
      alter("default_transaction_isolation = 'read committed'"),
    ],
    [
      facts.readonly,
      `${shown} is read-only.`,
      `Name the primary server, or let the user write. ${alter('default_transaction_read_only = off')}`,
    ],
  ];
  return wrong.flatMap(([is, why, mend]) => (is ? [bad(check, why, mend)] : []));
}

/** What is wrong with the schema and the rights in it; null: nothing. */
async function schemaFinding(
  postgres: Postgres,
  facts: Facts,
  { check, setting, tables }: Database,
  schema: Schema,
): Promise<Finding | null> {
  const { schema: name, shown } = postgres.address;
  const [quoted, user] = [identifier(name), identifier(facts.user)];
  const grant = (statement: string) => `As the owner of the database:\n  ${statement};`;
  if (!facts.present)
    return facts.creates
      ? fine(check, `The first command creates the schema ${name}.`)
      : bad(
          check,
          `${facts.user} may not create the schema ${name} in ${shown}.`,
          grant(`CREATE SCHEMA ${quoted} AUTHORIZATION ${user}`),
        );
  if (!facts.uses)
    return bad(
      check,
      `${facts.user} may not use the schema ${name}.`,
      grant(`GRANT USAGE, CREATE ON SCHEMA ${quoted} TO ${user}`),
    );
  const state = await schemaState(postgres, name, schema).catch((error: unknown) => {
    return bad(check, messageOf(error), `Name another schema in ${settings[setting].variable} (?schema=name).`);
  });
  if (state !== null && 'check' in state) return state;
  const missing = await missingRights(postgres, name, state === null ? [] : tables);
  // A store is not changed once its tables are there; a warehouse gets a view for each job.
  const isMade = check === 'store' && state?.missing.length === 0;
  const needed = missing.filter((right) => !isMade || !/^(CREATE|TEMPORARY) /.test(right));
  if (needed.length > 0) {
    const onTables = needed.filter((right) => !/^(CREATE|TEMPORARY) /.test(right));
    const others = needed.filter((right) => !onTables.includes(right)).map((right) => `GRANT ${right} TO ${user}`);
    const all = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted} TO ${user}`;
    return bad(
      check,
      `${facts.user} lacks ${needed.length} rights in ${shown}, such as ${needed[0]}.`,
      grant([...(onTables.length > 0 ? [all] : []), ...others].join('; ')),
    );
  }
  if (state === null || state.newer.length === 0) return null;
  const text = `A newer version of searchflow has changed the schema ${name} (${state.newer.join(', ')}).`;
  return fine(check, text, 'Update searchflow here, too: see docs/tasks/upgrade.md.');
}

/** Workers of the store with another key, and so another limit. */
async function otherWorkers(postgres: Postgres, config: RuntimeConfig): Promise<Finding[]> {
  const schema = identifier(postgres.address.schema);
  // A newer version may have changed the table.
  const all = await livingWorkers(postgres, schema, config.taskQueue, null).catch(() => []);
  const own = teamOf(config);
  const text = otherLimitsText(all.filter(({ team }) => team !== own && isTeamAt(team, config.origin)));
  return text === null ? [] : [fine('rate', text, 'Set the same SEARCHFLOW_TEAM for all of them.')];
}
