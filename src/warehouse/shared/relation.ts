import { createHash } from 'node:crypto';
import type { ColumnTypes, Dialect, RelationColumn, RelationType, Transaction } from '../dialect.js';
import { identifier, literal } from './duckdb-quote.js';

export type { ColumnTypes, RelationColumn, RelationType } from '../dialect.js';

/**
 * A table or view, described once: the statement that creates a table, the comments, the check of the schema and lists of columns are made
 * from it, and the data dictionary is made from the comments.
 */
export interface Relation {
  readonly name: string;
  readonly is: string;
  /** What one row stands for. */
  readonly row: string;
  readonly columns: readonly RelationColumn[];
  readonly key?: readonly string[];
  /** Whether the table has its key in every database. Other tables have no key in DuckDB, because keys cost more than they save. */
  readonly needsKey?: boolean;
}

/** The column of a record's service, see `tableColumns`. */
export const originColumn = 'origin text! Base URL of the service, or sandbox: its data is never real.';

/** Columns, one on each line: the name, the type, `!` for a column that is NOT NULL, and what the column is. */
export const tableColumns = (lines: string): readonly RelationColumn[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => {
      const [, name, type, mark, is] = /^ *(\w+) (\w+)(!?) (.+)$/.exec(line) ?? [];
      if (name === undefined || is === undefined) throw new Error(`This is not a column: ${line}`);
      return { name, type: type as RelationType, is, required: mark === '!' };
    });

export function createTable({ name, columns, key = [], needsKey = false }: Relation, dialect: Dialect): string {
  const lines = columns.map((column) => {
    const numbers = column.numbered ? ' GENERATED ALWAYS AS IDENTITY' : '';
    return `  ${column.name} ${typeOf(column, dialect.types)}${dialect.suffix(column)}${numbers}${column.required ? ' NOT NULL' : ''}`;
  });
  if (key.length > 0 && (dialect.keys || needsKey)) lines.push(`  PRIMARY KEY (${key.join(', ')})`);
  return `CREATE TABLE ${dialect.prefix}${name} (\n${lines.join(',\n')}\n);`;
}

export interface View extends Relation {
  readonly query: string;
}

export type MadeView = Record<'name' | 'query' | 'comment', string>;

/** A view with its comment, which ends with a hash of its definition. */
export const madeView = (name: string, query: string, is: string): MadeView => {
  const hash = createHash('sha256').update(query).digest('hex').slice(0, 12);
  return { name, query, comment: `${is}, definition ${hash}` };
};

/** Whether a database has a view with this comment, which has the hash of its definition. */
export const isMade = async ({ dialect, rows }: Transaction, { name, comment }: MadeView): Promise<boolean> =>
  (await rows<{ comment: string | null }>(dialect.viewComment, [name]))[0]?.comment === comment;

export const createView = ({ name, query, comment }: MadeView, { prefix }: Dialect): string => {
  const qualified = `${prefix}${identifier(name)}`;
  return `CREATE VIEW ${qualified} AS\n${query};\nCOMMENT ON VIEW ${qualified} IS ${literal(comment)};`;
};

/** COMMENT statements on tables, and on the columns of tables and views. `prefix`: the schema with its dot, or empty. */
export const commentsOn = (relations: readonly (Relation | View)[], prefix: string): string =>
  relations
    .flatMap((relation) => {
      const name = `${prefix}${relation.name}`;
      const comment = `COMMENT ON TABLE ${name} IS ${literal(`${relation.is} Each row: ${relation.row}.`)};`;
      const ofColumns = relation.columns.map((one) => `COMMENT ON COLUMN ${name}.${one.name} IS ${literal(one.is)};`);
      return 'query' in relation ? ofColumns : [comment, ...ofColumns];
    })
    .join('\n');

export interface FoundColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The column is NOT NULL and has no default. */
  readonly demanding: boolean;
}

/** Statements that add the tables that a database lacks, and columns that may be NULL. */
export const addMissing = (tables: readonly Relation[], dialect: Dialect, found: readonly FoundColumn[]): string[] =>
  tables.flatMap((table) => {
    const there = found.flatMap((one) => (one.table === table.name ? one.column : []));
    if (there.length === 0) return [createTable(table, dialect)];
    const missing = table.columns.filter(({ name, required }) => !required && !there.includes(name));
    const change = `ALTER TABLE ${dialect.prefix}${table.name} ADD COLUMN`;
    return missing.map((column) => `${change} ${column.name} ${typeOf(column, dialect.types)};`);
  });

/**
 * Differences between these tables and the columns that a database has. A column that a person added is accepted, unless it is NOT NULL
 * without a default.
 */
export function differences(tables: readonly Relation[], types: ColumnTypes, found: readonly FoundColumn[]): string[] {
  return tables.flatMap(({ name, columns }) => {
    const actual = new Map(found.filter(({ table }) => table === name).map((one) => [one.column, one]));
    if (actual.size === 0) return [`the table ${name} is missing`];
    const ours = new Set(columns.map((column) => column.name));
    return [
      ...[...actual.values()]
        .filter(({ column, demanding }) => demanding && !ours.has(column))
        .map(({ column }) => `${name}.${column} is NOT NULL without a default and is not written by searchflow`),
      ...columns.flatMap((column) => {
        const there = actual.get(column.name);
        if (there === undefined) return [`${name}.${column.name} is missing`];
        const type = typeOf(column, types);
        return there.type === type ? [] : [`${name}.${column.name} is ${there.type} instead of ${type}`];
      }),
    ];
  });
}

function typeOf({ type }: RelationColumn, types: ColumnTypes): string {
  return types[type as keyof ColumnTypes];
}
