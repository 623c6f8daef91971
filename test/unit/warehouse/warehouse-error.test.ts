import { describe, expect, it } from 'vitest';
import { TooMuchAtOnce, WarehouseBusy, WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { PostgresAway, PostgresRefused } from '../../../src/postgres/index.js';
import { warehouseError as ofPostgres } from '../../../src/warehouse/postgres/errors.js';
import { warehouseError as ofDuckDb } from '../../../src/warehouse/shared/duckdb-error.js';

const coded = (code: string, message = 'what it says') => Object.assign(new Error(message), { code });
const away = (cause?: unknown) =>
  Object.assign(Object.create(PostgresAway.prototype), { message: 'it is away', cause }) as Error;
const refused = (code: string) =>
  Object.assign(Object.create(PostgresRefused.prototype), { message: 'it refuses', code }) as Error;

describe('a message of PostgreSQL', () => {
  it.each<[string, Error, typeof WarehouseBusy | typeof WarehouseUnusable, string]>([
    ['is away', away(), WarehouseBusy, 'it is away'],
    ['is locked', away(coded('55P03')), WarehouseBusy, 'db is locked by another transaction'],
    ['takes too long', away(coded('57014')), WarehouseBusy, 'db takes too long'],
    [
      'requires a password',
      refused('28P01'),
      WarehouseUnusable,
      'it refuses: check the address, and user and password',
    ],
    ['has no such database', refused('3D000'), WarehouseUnusable, 'it refuses: check the address'],
    ['forbids it', refused('42501'), WarehouseUnusable, 'it refuses: ask its owner for the missing rights'],
    [
      'does not support TLS',
      new Error('The server does not support SSL'),
      WarehouseUnusable,
      'see sslmode in its address',
    ],
    ['lacks a table', coded('42P01'), WarehouseUnusable, 'a table is missing'],
    ['lacks the schema', coded('3F000'), WarehouseUnusable, 'a table is missing'],
    ['has other tables of these names', coded('42P07'), WarehouseUnusable, 'has tables or views of the same names'],
    ['lacks a column', coded('42703'), WarehouseUnusable, 'undo the change'],
    ['refuses a row', coded('23505'), WarehouseUnusable, 'they refuse its rows'],
    ['has views on views', coded('2BP01'), WarehouseUnusable, 'drop those first'],
    ['is full', coded('53100'), WarehouseUnusable, 'is out of space'],
    ['has no memory', coded('53200'), WarehouseUnusable, 'is out of space'],
    ['has another encoding', coded('22P05'), WarehouseUnusable, 'its encoding is not UTF8'],
  ])('if it %s', (_, error, kind, message) => {
    const translated = ofPostgres(error, 'db') as Error;
    expect([translated.constructor, translated.message]).toEqual([kind, expect.stringContaining(message)]);
  });

  it.each([coded('22003'), coded('40001'), new WarehouseUnusable('warehouse-unusable', 'as it is'), 'text'])(
    'about anything else is passed on: %s',
    (error) => {
      expect(ofPostgres(error, 'db')).toBe(error);
    },
  );
});

describe('a message of DuckDB', () => {
  it.each<[string, typeof WarehouseBusy | typeof WarehouseUnusable, string]>([
    [
      'IO Error: Could not set lock on file: Conflicting lock is held in node (PID 77)',
      WarehouseBusy,
      'x.duckdb is open in process 77',
    ],
    ['IO Error: used by another process', WarehouseBusy, 'x.duckdb is open in another process'],
    ['the file exists, but it is not a valid DuckDB database file!', WarehouseUnusable, 'is not a DuckDB database'],
    ['Failure while replaying WAL', WarehouseUnusable, 'x.duckdb.wal is damaged'],
    ['No space left on device', WarehouseUnusable, 'The disk of x.duckdb is full'],
    ['Permission denied', WarehouseUnusable, 'cannot be written by this user'],
    ['Is a directory', WarehouseUnusable, 'cannot be opened'],
    ['Corrupt database file: checksum', WarehouseUnusable, 'is damaged'],
    ['Out of Memory Error: no space', TooMuchAtOnce, 'more memory than DuckDB may use'],
    [
      'TransactionContext Error: Failed to commit: failed to pin block',
      TooMuchAtOnce,
      'more memory than DuckDB may use',
    ],
    ['Constraint Error: Duplicate key', WarehouseUnusable, 'differ from those that searchflow created'],
  ])('%s', (message, kind, sentence) => {
    const translated = ofDuckDb(new Error(`${message}\nmore`), 'x.duckdb') as Error & { pid?: number | null };
    expect([translated.constructor, translated.message]).toEqual([kind, expect.stringContaining(sentence)]);
    expect(translated.message).not.toContain('more\n');
    if (kind === WarehouseBusy) expect(translated.pid).toBe(message.includes('77') ? 77 : null);
  });

  it('of a full disk is no part of the sentence, which says all of it', () => {
    const error = ofDuckDb(new Error('IO Error: Could not write file "x": No space left on device'), 'x.duckdb');
    expect((error as Error).message).toMatch(/^The disk of x\.duckdb is full: [^():]+$/);
  });

  it.each([new Error('Parser Error'), new WarehouseBusy('warehouse-in-use', 'as it is', null), 7])(
    'about anything else is passed on: %s',
    (error) => {
      expect(ofDuckDb(error, 'x.duckdb')).toBe(error);
    },
  );
});
