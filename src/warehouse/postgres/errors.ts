import type { ErrorCode } from '../../core/errors/registry.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { OtherSchema, PostgresAway, PostgresRefused } from '../../postgres/index.js';

export const OTHER_SCHEMA = 'another schema (?schema=name)';
const changed = (where: string) => `The tables in ${where} differ from those that searchflow created`;
const undo = `undo the change, or load into ${OTHER_SCHEMA}`;

/** Texts of errors, each with the fix, by SQLSTATE or by class of SQLSTATE. */
const cases: readonly (readonly [state: RegExp, say: (where: string) => string, code: ErrorCode])[] = [
  [
    /^(42P01|3F000)$/,
    (where) =>
      `${changed(where)}: a table is missing. If the warehouse was deleted, run the same command again: it is loaded from the journal, nothing is bought twice`,
    'warehouse-rows-lost',
  ],
  [
    /^(42P07|42710|42723)$/,
    (where) =>
      `${where} has tables or views of the same names that are not this warehouse's: load into ${OTHER_SCHEMA}`,
    'warehouse-name-taken',
  ],
  [/^(42703|42804|42883|428C9|42809)$/, (where) => `${changed(where)}: ${undo}`, 'warehouse-changed'],
  [/^23/, (where) => `${changed(where)}, they refuse its rows: ${undo}`, 'warehouse-changed'],
  [
    /^2BP01$/,
    (where) => `A view of a job in ${where} cannot be changed while other views depend on it: drop those first`,
    'warehouse-changed',
  ],
  [
    /^53[12]00$/,
    (where) =>
      `${where} is out of space (disk or memory of the server): free some, then run the job again; no paid answer is lost`,
    'warehouse-full',
  ],
  [
    /^22P05$/,
    (where) => `${where} cannot hold every character: its encoding is not UTF8. Load into a database with UTF8`,
    'postgres-unsuitable',
  ],
];

/**
 * Returns PostgreSQL's error as `WarehouseBusy` (wait) or `WarehouseUnusable` (with the fix). Returns any other error
 * unchanged.
 */
export function warehouseError(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof WarehouseBusy || error instanceof WarehouseUnusable) return error;
  if (error instanceof PostgresAway) return busy(error, where);
  if (error instanceof OtherSchema) {
    const schema = `into ${OTHER_SCHEMA}`;
    const why =
      error.is === null
        ? `${where} was not created by this version of searchflow. Load ${schema}`
        : `${where} is a ${error.is} of searchflow, not a warehouse. Load ${schema}`;
    return new WarehouseUnusable('schema-of-another-version', why, { cause: error });
  }
  if (/SSL|certificate|TLS/i.test(error.message)) {
    return new WarehouseUnusable(
      'postgres-refused',
      `${where} has no secure connection (${error.message}): see sslmode in its address`,
      {
        cause: error,
      },
    );
  }
  if (error instanceof PostgresRefused) return refused(error, 'SEARCHFLOW_WAREHOUSE_URL, ');
  const code = codeOf(error);
  const found = cases.find(([when]) => when.test(code));
  if (!found) return error;
  return new WarehouseUnusable(found[2], `${found[1](where)} (PostgreSQL: ${error.message})`, { cause: error });
}

/** A refusal of the server with the fix. `setting`: the variable that may have the address, with a comma. */
export function refused(error: PostgresRefused, setting: string): WarehouseUnusable {
  const way = /^(28|3D)/.test(error.code ?? '')
    ? `check the address, and user and password (in the address, ${setting}PGUSER and PGPASSWORD, or .pgpass)`
    : 'ask its owner for the missing rights';
  return new WarehouseUnusable(error.errorCode, `${error.message}: ${way}`, { cause: error });
}

function busy(error: PostgresAway, where: string): WarehouseBusy {
  const code = codeOf(error.cause);
  const why = code === '55P03' ? 'is locked by another transaction' : code === '57014' ? 'takes too long' : null;
  return new WarehouseBusy(
    code === '55P03' ? 'warehouse-in-use' : 'postgres-unreachable',
    why === null ? error.message : `${where} ${why}: retry when that has ended`,
    null,
  );
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}
