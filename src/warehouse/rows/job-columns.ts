import { type ColumnType, TEXT } from '../../core/rows/column-type.js';
import { isRowOperation, ROW_ID_FIELD, ROWS_FIELD, type RowOperation } from '../../core/rows/row-operation.js';
import type { RowRequest } from '../../core/rows/row-warehouse.js';
import type { SchemaColumn } from '../../core/rows/schema-changes.js';
import type { Json } from '../../core/text/json.js';
import { withoutMarks } from '../../core/text/value-forms.js';
import { viewColumns } from '../shared/view-columns.js';
import { type Path, type ResultColumn, read, stored, strictTypes, type ValueType } from './result-column.js';

/** The columns of a job's input. `types`: absent or null: all are texts. */
export interface InputColumns {
  readonly columns: readonly string[];
  readonly types?: readonly ColumnType[] | null | undefined;
}

export interface JobShape {
  readonly operation: string;
  readonly options: Json;
  readonly request?: RowRequest | null | undefined;
}

/**
 * The stored template of a job's requests, with the job's options. The table also has a column of options, but the jsonb of that column
 * loses the order of the fields.
 */
interface StoredRequest extends RowRequest {
  readonly options: Json;
}

export function storedRequest({ request, options }: JobShape): StoredRequest | null {
  return request ? { ...request, options } : null;
}

/** Columns of `searchflow_jobs` that decide the columns of the job's view. Some drivers parse JSON, so JSON is read as text. */
export const storedTexts = 'operation, CAST(options AS text) AS options, CAST(request AS text) AS request';

export interface StoredTexts {
  readonly operation: string;
  readonly options: string | null;
  readonly request: string | null;
}

export const resultColumnsOf = (texts: StoredTexts) => jobColumns(shapeOf(texts));

export function shapeOf({ operation, options, request }: StoredTexts): JobShape {
  const stored = JSON.parse(request ?? 'null') as StoredRequest | null;
  return { operation, options: stored?.options ?? (JSON.parse(options ?? 'null') as Json), request: stored };
}

type Fields = { readonly [name: string]: Json };

const first = [stored('status'), stored('error_tag'), stored('error_message')];
const last = [
  stored('response', false),
  stored('request_id'),
  stored('cost_dollars'),
  stored('fetched_at'),
  stored('row_number', false),
];

/** Columns of a job's view after the user's own, by its operation. */
export function jobColumns({ operation, options, request }: JobShape): readonly ResultColumn[] {
  const { template } = request ?? {};
  // A field is in the template if it uses a column, such as the question of a summary.
  const templated: Fields =
    isFields(template) && template.contents !== undefined ? { contents: template.contents } : {};
  const fields = isFields(options) ? { ...templated, ...options } : templated;
  const own = isRowOperation(operation) ? ownColumns[operation] : contents;
  return [...first, ...own(fields, (request?.rowsPerRun ?? 1) > 1), ...last];
}

const ownColumns: Readonly<Record<RowOperation, (options: Fields, sharesRun: boolean) => readonly ResultColumn[]>> = {
  contents,
  search: (options) => [
    ...firstResult(options),
    ...schemaColumns(options.outputSchema, ['output', 'content'], 'output'),
  ],
  answer: ({ outputSchema }) => [
    ...(isFields(outputSchema) ? flattenSchema(outputSchema, ['answer']) : []),
    read('answer', ['answer'], 'text'),
    { name: 'citations', csv: true, from: { count: ['citations'], of: 'response' } },
    read('citation_url', ['citations', '0', 'url']),
    read('citation_title', ['citations', '0', 'title']),
  ],
  agent: ({ outputSchema }, sharesRun) => [
    ...(sharesRun ? rowColumns(outputSchema) : schemaColumns(outputSchema, ['output', 'structured'], 'structured')),
    read('text', ['output', 'text']),
    read('stop_reason', ['stopReason']),
    read('run_id', ['id']),
  ],
};

const kinds = ['number', 'integer', 'boolean', 'array', 'object', 'string', 'date', 'date-time'].map((kind) => [
  kind,
  kind.startsWith('date') ? { type: 'string', format: kind } : { type: kind },
]);
const asked: Fields = { highlights: true, summary: true };
const ofRow: Fields = { items: { properties: Object.fromEntries(kinds) } };
const outputSchema: Fields = { properties: Object.fromEntries([...kinds, [ROWS_FIELD, ofRow]]) };
const everything: Fields = { ...asked, contents: asked, outputSchema };

/** Jobs that have every column, so that a changed column of this version renews the views of jobs. */
export const fullShapes: readonly JobShape[] = Object.keys(ownColumns).flatMap((operation) =>
  [1, 2].map((rowsPerRun) => ({ operation, options: everything, request: { template: null, rowsPerRun } })),
);

export function viewColumnNames(job: JobShape & { readonly columns: readonly string[] }): readonly string[] {
  const { own, results } = viewColumns(
    job.columns,
    jobColumns(job).map(({ name }) => name),
  );
  return [...own, ...results];
}

/** Columns of the input and of the answers of a job, to compare runs. */
export function schemaOf(job: JobShape & InputColumns): readonly SchemaColumn[] {
  return [
    ...job.columns.map((name, index) => {
      const type = job.types?.[index] ?? TEXT;
      return { of: 'input' as const, name, type: type === TEXT ? undefined : type };
    }),
    ...jobColumns(job).flatMap(({ name, from }) =>
      'path' in from ? [{ of: 'output' as const, name, type: typeName(from.type) }] : [],
    ),
  ];
}

const typeName = (type: ValueType): string => (type === 'string' ? 'text' : type);

/** Columns of a search: the number of results, and fields of the first result. The view `search_results` has all results. */
function firstResult({ contents: asked }: Fields): readonly ResultColumn[] {
  const field = (name: string, path: string, type?: ValueType) => read(name, ['results', '0', path], type);
  return [
    { name: 'results', csv: true, from: { count: ['results'], of: 'response' } },
    field('url', 'url'),
    field('title', 'title'),
    field('published_date', 'publishedDate'),
    ...(isAsked(asked, 'highlights') ? [field('highlights', 'highlights', 'json')] : []),
    ...(isAsked(asked, 'summary') ? [field('summary', 'summary')] : []),
  ];
}

const isAsked = (options: Json | undefined, name: string): boolean =>
  isFields(options) && (options[name] ?? false) !== false;

/** Highlights and summary are exported if they were requested. */
function contents(options: Fields): readonly ResultColumn[] {
  return [
    stored('http_status'),
    stored('title'),
    stored('author'),
    stored('published_date'),
    read('text', ['text']),
    read('highlights', ['highlights'], 'json', isAsked(options, 'highlights')),
    read('summary', ['summary'], 'string', isAsked(options, 'summary')),
  ];
}

/**
 * Returns a column for each property of the schema; without a schema, no column. A schema without properties gives one column
 * with the whole value.
 */
function schemaColumns(schema: Json | undefined, path: readonly string[], whole: string): readonly ResultColumn[] {
  if (!isFields(schema)) return [];
  const columns = flattenSchema(schema, path);
  const type = typeOf(schema);
  return columns.length > 0 ? columns : [read(whole, path, type === 'array' || type === 'object' ? type : 'json')];
}

/**
 * Like `schemaColumns`, for rows that share a run. The output has a list of objects; the values are read from the object that names the
 * row.
 */
function rowColumns(schema: Json | undefined): readonly ResultColumn[] {
  const rows = isFields(schema) && isFields(schema.properties) ? schema.properties[ROWS_FIELD] : undefined;
  const items = isFields(rows) ? rows.items : undefined;
  if (!isFields(items)) return [];
  const { [ROW_ID_FIELD]: _id, ...properties } = isFields(items.properties) ? items.properties : {};
  return flattenSchema({ ...items, properties }, [], 'row');
}

/** Objects below this depth stay whole, as JSON. `MAX_COLUMNS`: properties after this number of columns get no column. */
const MAX_DEPTH = 5;
const MAX_COLUMNS = 200;

/**
 * Returns a column for each property of a JSON Schema of type object. Columns for texts, numbers, integers, booleans, dates and times have
 * these types. Properties of nested objects are named `outer_inner`. Lists and other objects are JSON of that
 * kind, and all other properties (unions, references) any JSON.
 */
function flattenSchema(schema: Fields, path: Path, of: 'response' | 'row' = 'response'): readonly ResultColumn[] {
  return properties(schema, path, [], 0)
    .slice(0, MAX_COLUMNS)
    .map(({ names, type, at }) => ({
      name: withoutMarks(names.join('_')),
      csv: true,
      from: { path: at, type, of },
    }));
}

interface Found {
  readonly names: readonly string[];
  readonly type: ValueType;
  readonly at: Path;
}

function properties(schema: Fields, path: Path, names: readonly string[], depth: number): Found[] {
  if (!isFields(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([name, property]): Found[] => {
    const at = [...path, name];
    const all = [...names, name];
    const type = typeOf(property);
    const inner = type === 'object' && depth < MAX_DEPTH ? properties(property as Fields, at, all, depth + 1) : [];
    return inner.length > 0 ? inner : [{ names: all, type, at }];
  });
}

function typeOf(property: Json): ValueType {
  if (!isFields(property)) return 'json';
  const types = (Array.isArray(property.type) ? (property.type as readonly Json[]) : [property.type]).filter(
    (type) => type !== 'null',
  );
  const [type] = types;
  if (types.length !== 1) return 'json';
  if (type === 'string') return property.format === 'date' ? 'date' : property.format === 'date-time' ? 'time' : 'text';
  return strictTypes.find((one) => one === type) ?? 'json';
}

function isFields(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
