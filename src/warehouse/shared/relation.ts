/**
 * Types of columns. `id`: a text of bounded length; `small`: an integer of 32 bits; `integer` and `long`: of 64 bits; `texts`: a list of texts; `parsed`: JSON that is
 * stored parsed, if the database can do so; `other`: the column of a view, whose query has the type.
 */
export type ColumnType =
  | ('text' | 'id' | 'texts' | 'boolean' | 'small' | 'integer' | 'long' | 'number')
  | ('time' | 'json' | 'parsed' | 'digest' | 'other');

/** The types of columns in the SQL of one database. */
export type ColumnTypes = Readonly<Record<Exclude<ColumnType, 'other'>, string>>;

export interface RelationColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly is: string;
  readonly required?: boolean;
  /** Whether the database numbers the rows in this column. */
  readonly numbered?: boolean;
}

/**
 * A table or view, described once: the statement that creates a table, the comments, the check of the schema and lists of columns are made
 * from it, and the data dictionary is made from the comments.
 */
export interface Relation {
  readonly kind: 'TABLE' | 'VIEW';
  readonly name: string;
  readonly is: string;
  /** What one row stands for. */
  readonly row: string;
  readonly columns: readonly RelationColumn[];
  readonly key?: readonly string[];
  /** Whether the table has its key in every database. Other tables have no key in DuckDB, because keys cost more than they save. */
  readonly needsKey?: boolean;
}

/** A column that may be NULL. */
export const column = (type: ColumnType, name: string, is: string): RelationColumn => ({ name, type, is });
/** A column that is NOT NULL. */
export const required = (type: ColumnType, name: string, is: string): RelationColumn => ({
  name,
  type,
  is,
  required: true,
});

/** Style of the tables in one database. */
export interface TableStyle {
  readonly types: ColumnTypes;
  /** The schema with its dot, or empty. */
  readonly prefix: string;
  /** Whether every table has its key. */
  readonly keys: boolean;
  /** Suffix of a column's type, such as a compression. */
  suffix?(column: RelationColumn): string;
}

/** Statement that creates a table. */
export function createTable({ name, columns, key = [], needsKey = false }: Relation, style: TableStyle): string {
  const lines = columns.map((column) => {
    const numbers = column.numbered ? ' GENERATED ALWAYS AS IDENTITY' : '';
    return `  ${column.name} ${typeOf(column, style.types)}${style.suffix?.(column) ?? ''}${numbers}${column.required ? ' NOT NULL' : ''}`;
  });
  if (key.length > 0 && (style.keys || needsKey)) lines.push(`  PRIMARY KEY (${key.join(', ')})`);
  return `CREATE TABLE ${style.prefix}${name} (\n${lines.join(',\n')}\n);`;
}

/** Statements that create tables, with all comments. */
export const createTables = (tables: readonly Relation[], style: TableStyle): string =>
  [...tables.map((table) => createTable(table, style)), commentsOn(tables, style.prefix)].join('\n');

/** COMMENT statements. `prefix`: the schema with its dot, or empty. */
export function commentsOn(relations: readonly Relation[], prefix = ''): string {
  return relations
    .flatMap(({ kind, name, is, row, columns }) => [
      `COMMENT ON ${kind} ${prefix}${name} IS ${quoted(`${is} Each row: ${row}.`)};`,
      ...columns.map((column) => `COMMENT ON COLUMN ${prefix}${name}.${column.name} IS ${quoted(column.is)};`),
    ])
    .join('\n');
}

/** A column of a table in a database. */
export interface FoundColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The column is NOT NULL and has no default. */
  readonly demanding: boolean;
}

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

const quoted = (sentence: string) => `'${sentence.replaceAll("'", "''")}'`;
