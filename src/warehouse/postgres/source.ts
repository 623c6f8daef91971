import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { PgTransaction } from '../../postgres/index.js';
import type { Dialect } from '../dialect.js';
import { duckDbDialect } from '../duckdb/dialect.js';
import type { SourceDatabase } from '../export/job-rows.js';
import { facts, rowColumns } from '../rows/row-tables.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { mendBytes, mendSurrogates } from '../shared/mend-escapes.js';
import type { Relation, RelationColumn } from '../shared/relation.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { wholeLines } from '../shared/whole-lines.js';
import { transactionOf } from './transaction.js';

/** The types of columns in a scratch DuckDB. */
const types: Readonly<Record<RelationColumn['type'], string>> = {
  ...duckDbDialect.types,
  ...{ json: 'VARCHAR', parsed: 'VARCHAR', other: 'VARCHAR' },
};

/** Runs work in a transaction that only reads; `snapshot`: all of its statements see one state of the database. */
export type PgRead = <T>(work: (tx: PgTransaction) => Promise<T>, isSnapshot?: boolean) => Promise<T>;

/** Copies rows into a scratch DuckDB, while loads continue. */
export function sourceOf(reading: PgRead, dialect: Dialect): SourceDatabase {
  return (scratch, manner, work) => {
    const lines = join(scratch, 'source.jsonl');
    const open = (read: <T>(work: (tx: PgTransaction) => Promise<T>) => Promise<T>) =>
      withScratchDuckDb(join(scratch, 'spill'), (connection) =>
        work({
          connection,
          need: (megabytes) => setMemory(connection, megabytes),
          read: (one) => read((tx) => one(transactionOf(tx, dialect))),
          part: (where, from, to) => read((tx) => partOf(tx, where, from, to, lines)),
          table: (table) => read((tx) => tableOf(tx, table, lines)),
        }),
      );
    return manner === 'snapshot' ? reading((tx) => open((one) => one(tx)), true) : open(reading);
  };
}

const unread = ['job', 'origin', 'generation', 'slice', 'unit_key', 'url', 'loaded_at', 'outdated_at', 'vanished_at'];
const lineColumns = rowColumns.filter(({ name }) => name !== 'response' && !unread.includes(name));

/** The fields of a line before the answer, with the types that they have in a DuckDB warehouse. */
const fields = JSON.stringify({
  ...Object.fromEntries(lineColumns.map(({ name, type }) => [name, type === 'texts' ? ['VARCHAR'] : types[type]])),
  ...{ row_exact: { i: ['VARCHAR'] }, is_exact: 'BOOLEAN' },
});

/** The answer comes last, so that its text can be cut out of the line. `is_exact`: the answer is the landed one, with the result last. */
const rows = (where: string, from: number, to: number) => `
  SELECT ${lineColumns.map(copied).join(', ')}, row_exact, answer_exact IS NOT NULL AS is_exact,
    coalesce(answer_exact, response) AS answer
  FROM row_store
  WHERE ${where} AND row_number BETWEEN ${from} AND ${to}
  ORDER BY row_number`;

/** The end of a JSON object, after the first `name`, without its closing brace. JSON escapes the quotes in texts, so a text has no `name`. */
const last = (json: string, name: string) => {
  const mark = `,"${name}":`;
  return `substr(${json}, instr(${json}, '${mark}') + ${mark.length}, length(${json}) - instr(${json}, '${mark}') - ${mark.length})`;
};

/** Columns whose values are read from the original answer, if there is one, so that both warehouses export the same bytes. */
const asInDuckDb = facts
  .map(
    ({ name, field }) => `if(fields.is_exact, json_extract_string(response, '$.${field}'), fields.${name}) AS ${name}`,
  )
  .join(', ');

/**
 * See `SourceDuckDb.part`. The rows of a part are copied into the file `scratch`, which the caller removes. An answer is cut out of its line
 * unchanged, because DuckDB would rewrite the numbers in the answer.
 */
async function partOf(tx: PgTransaction, where: string, from: number, to: number, scratch: string): Promise<string> {
  const longest = await copyAsJson(tx, rows(where, from, to), scratch);
  return `SELECT fields.* EXCLUDE (row_exact, is_exact) REPLACE (${asInDuckDb}, coalesce(fields.row_exact.i, fields.input) AS input),
      response
    FROM (SELECT fields, CAST(nullif(if(fields.is_exact, ${last('answer', 'result')}, answer), 'null') AS JSON) AS response
      FROM (SELECT from_json(left(line, instr(line, ',"answer":') - 1) || '}', '${fields}') AS fields, ${last('line', 'answer')} AS answer
        FROM (SELECT json::VARCHAR AS line FROM read_json_objects(${linesOf(scratch, longest)}))))`;
}

/** See `SourceDuckDb.table`. Times are copied as UTC, and JSON as text, unchanged. */
async function tableOf(tx: PgTransaction, { name, columns }: Relation, scratch: string): Promise<string> {
  const longest = await copyAsJson(tx, `SELECT ${columns.map(copied).join(', ')} FROM ${name}`, scratch);
  const all = columns.map((column) => `${column.name}: '${types[column.type]}'`).join(', ');
  return `SELECT * FROM read_json(${linesOf(scratch, longest)}, columns = {${all}})`;
}

/** Arguments of a function that reads the lines of a file, of which the longest has so many bytes. */
const linesOf = (file: string, longest: number): string =>
  `${literal(plainPath(file))}, format = 'newline_delimited', compression = 'uncompressed', maximum_object_size = ${Math.max(65_536, longest + 1)}`;

function copied({ name, type }: RelationColumn): string {
  if (type === 'time') return `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS ${name}`;
  return type === 'json' || type === 'parsed' ? `CAST(${name} AS text) AS ${name}` : name;
}

/** Writes rows as lines of JSON. Returns the bytes of the longest line. */
async function copyAsJson(tx: PgTransaction, query: string, file: string): Promise<number> {
  const { to } = await import('pg-copy-streams');
  const lines = tx.client.query(
    to(`COPY (SELECT row_to_json(r) FROM (${query}) r) TO STDOUT (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')`),
  );
  // A broken connection may emit a second error, when no handler is left.
  lines.on('error', () => undefined);
  let longest = 0;
  const readable = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const piece of wholeLines(chunks)) {
      for (let at = 0; at < piece.length; ) {
        const next = piece.indexOf(10, at) + 1 || piece.length;
        longest = Math.max(longest, next - at);
        at = next;
      }
      // Half of a surrogate pair is replaced by visible characters, as in a DuckDB warehouse, because DuckDB cannot hold such a half as
      // text either.
      yield mendBytes(piece, mendSurrogates);
    }
  };
  await pipeline(lines, readable, createWriteStream(file, { mode: 0o600 }));
  return longest;
}
