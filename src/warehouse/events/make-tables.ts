import type { EventDialect } from './event-sql.js';
import { eventTables, type Relation, type RelationColumn, stateMarks } from './event-tables.js';
import { eventViews } from './event-views.js';

/** Style of the tables in one database. */
export interface TableStyle {
  /** The schema with its dot, or empty. */
  readonly prefix: string;
  /** Suffix of a column's type, such as a compression. */
  suffix(column: RelationColumn): string;
  /** Whether tables have keys. DuckDB tables have no keys, because keys cost more than they save. */
  readonly keys: boolean;
}

/** Statements that create the tables, sequence and views for events, with all comments. */
export function makeEventTables(dialect: EventDialect, style: TableStyle): string {
  const { prefix, keys } = style;
  const typeOf = (column: RelationColumn): string =>
    (column.type === 'other' ? (column.own as string) : dialect.types[column.type]) + style.suffix(column);
  const tables = eventTables(dialect);
  const views = eventViews(dialect, prefix);
  return [
    `CREATE SEQUENCE ${prefix}event_load_ids;`,
    ...tables.map(({ name, columns, key = [] }) => {
      const lines = columns.map((column) => `  ${column.name} ${typeOf(column)}${column.required ? ' NOT NULL' : ''}`);
      if (keys && key.length > 0) lines.push(`  PRIMARY KEY (${key.join(', ')})`);
      return `CREATE TABLE ${prefix}${name} (\n${lines.join(',\n')}\n);`;
    }),
    ...views.map(({ name, query }) => `CREATE VIEW ${prefix}${name} AS\n${query};`),
    ...[...tables, ...views].flatMap((relation) => comments(relation, prefix)),
  ].join('\n');
}

/** Statements that add the columns `stateMarks` to tables that an earlier version created. */
export function addStateMarks(dialect: EventDialect, prefix: string): string {
  return [
    ...stateMarks.map(({ name, type }) => {
      const column = dialect.types[type as keyof EventDialect['types']];
      return `ALTER TABLE ${prefix}event_loads ADD COLUMN IF NOT EXISTS ${name} ${column};`;
    }),
    ...onColumns('event_loads', stateMarks, prefix),
  ].join('\n');
}

function comments({ kind, name, is, columns }: Relation, prefix: string): string[] {
  return [`COMMENT ON ${kind} ${prefix}${name} IS ${text(is)};`, ...onColumns(name, columns, prefix)];
}

function onColumns(table: string, columns: readonly RelationColumn[], prefix: string): string[] {
  return columns.map((column) => `COMMENT ON COLUMN ${prefix}${table}.${column.name} IS ${text(column.is)};`);
}

const text = (sentence: string) => `'${sentence.replaceAll("'", "''")}'`;
