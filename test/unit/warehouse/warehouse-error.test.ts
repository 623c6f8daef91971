import { describe, expect, it } from 'vitest';
import { SinkBusy, SinkUnusable, TooMuchAtOnce } from '../../../src/core/rows/sink.js';
import { PostgresAway, PostgresRefused } from '../../../src/postgres/index.js';
import { sinkError as ofDuckDb } from '../../../src/warehouse/duckdb/driver/warehouse-error.js';
import { sinkError as ofPostgres } from '../../../src/warehouse/postgres/driver/warehouse-error.js';

const coded = (code: string, message = 'what it says') => Object.assign(new Error(message), { code });
const away = (cause?: unknown) =>
  Object.assign(Object.create(PostgresAway.prototype), { message: 'it is away', cause }) as Error;
const refused = (code: string) =>
  Object.assign(Object.create(PostgresRefused.prototype), { message: 'it refuses', code }) as Error;

describe('a message of PostgreSQL', () => {
  it.each<[string, Error, typeof SinkBusy | typeof SinkUnusable, string]>([
    ['is away', away(), SinkBusy, 'it is away'],
    ['is locked', away(coded('55P03')), SinkBusy, 'db is locked by another transaction'],
    ['takes too long', away(coded('57014')), SinkBusy, 'db takes too long'],
    ['wants a password', refused('28P01'), SinkUnusable, 'it refuses: check the address, and user and password'],
    ['has no such database', refused('3D000'), SinkUnusable, 'it refuses: check the address'],
    ['forbids it', refused('42501'), SinkUnusable, 'it refuses: ask its owner for the missing rights'],
    ['speaks no TLS', new Error('The server does not support SSL'), SinkUnusable, 'see sslmode in its address'],
    ['lacks a table', coded('42P01'), SinkUnusable, 'a table is missing'],
    ['lacks the schema', coded('3F000'), SinkUnusable, 'a table is missing'],
    ['has other things of these names', coded('42P07'), SinkUnusable, 'has tables or views of the same names'],
    ['lacks a column', coded('42703'), SinkUnusable, 'undo the change'],
    ['refuses a row', coded('23505'), SinkUnusable, 'they refuse its rows'],
    ['has views on views', coded('2BP01'), SinkUnusable, 'drop those first'],
    ['is full', coded('53100'), SinkUnusable, 'is out of space'],
    ['has no memory', coded('53200'), SinkUnusable, 'is out of space'],
    ['has another encoding', coded('22P05'), SinkUnusable, 'its encoding is not UTF8'],
  ])('if it %s', (_, error, kind, message) => {
    const told = ofPostgres(error, 'db') as Error;
    expect([told.constructor, told.message]).toEqual([kind, expect.stringContaining(message)]);
  });

  it.each([coded('22003'), coded('40001'), new SinkUnusable('as it is'), 'text'])(
    'about anything else is passed on: %s',
    (error) => {
      expect(ofPostgres(error, 'db')).toBe(error);
    },
  );
});

describe('a message of DuckDB', () => {
  it.each<[string, typeof SinkBusy | typeof SinkUnusable, string]>([
    [
      'IO Error: Could not set lock on file: Conflicting lock is held in node (PID 77)',
      SinkBusy,
      'x.duckdb is open in process 77',
    ],
    ['IO Error: used by another process', SinkBusy, 'x.duckdb is open in another process'],
    ['the file exists, but it is not a valid DuckDB database file!', SinkUnusable, 'is not a DuckDB database'],
    ['Failure while replaying WAL', SinkUnusable, 'x.duckdb.wal is damaged'],
    ['No space left on device', SinkUnusable, 'The disk of x.duckdb is full'],
    ['Permission denied', SinkUnusable, 'cannot be written by this user'],
    ['Is a directory', SinkUnusable, 'cannot be opened'],
    ['Corrupt database file: checksum', SinkUnusable, 'is damaged'],
    ['Out of Memory Error: failed to pin', TooMuchAtOnce, 'more memory than the warehouse has'],
    ['Constraint Error: Duplicate key', SinkUnusable, 'differ from those that searchflow created'],
  ])('%s', (message, kind, sentence) => {
    const told = ofDuckDb(new Error(`${message}\nmore`), 'x.duckdb') as Error & { pid?: number | null };
    expect([told.constructor, told.message]).toEqual([kind, expect.stringContaining(sentence)]);
    expect(told.message).not.toContain('more\n');
    if (kind === SinkBusy) expect(told.pid).toBe(message.includes('77') ? 77 : null);
  });

  it.each([new Error('Parser Error'), new SinkBusy('as it is', null), 7])(
    'about anything else is passed on: %s',
    (error) => {
      expect(ofDuckDb(error, 'x.duckdb')).toBe(error);
    },
  );
});
