import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type PriceTable, priceTables } from '../../core/purchase/prices.js';
import { contentTypes } from '../../core/request-values.js';

const dollars = z.number().min(0).max(10_000);
const bandList = z
  .array(z.tuple([z.int().min(0).nullable(), dollars]))
  .min(1)
  .refine((all) => all.every(([most], index) => (most === null) === (index === all.length - 1)), {
    error: 'the last band, and only it, must have the bound null: [[25, 0.005], [null, 1]]',
  })
  .refine((all) => all.every(([most], index) => most === null || index === 0 || most > (all[index - 1]?.[0] ?? 0)), {
    error: 'the bounds of the bands must be in ascending order',
  });
const name = z.string().min(1);
const contentType = z.enum(contentTypes);
const agentUse = z.strictObject({ computeUnit: dollars, search: dollars, email: dollars, phoneNumber: dollars });

const wholeTable = z.strictObject({
  since: z.iso.date(),
  search: z.record(name, bandList),
  searchResult: dollars,
  searchPage: z.record(contentType, dollars),
  contentsPage: dollars,
  answer: dollars,
  research: dollars,
  monitorRun: dollars,
  agentRun: z.record(name, dollars),
  agentUse,
} satisfies { readonly [Name in keyof PriceTable]: z.ZodType });

const tableSchema = wholeTable.partial().extend({
  since: wholeTable.shape.since,
  search: z.record(name, z.union([dollars, bandList])).optional(),
  searchPage: z.partialRecord(contentType, dollars).optional(),
  agentUse: agentUse.partial().optional(),
});
type FileTable = z.infer<typeof tableSchema>;

const fileSchema = z
  .array(tableSchema)
  .min(1)
  .refine((tables) => new Set(tables.map(({ since }) => since)).size === tables.length, {
    error: 'two tables have the same "since"',
  });

/**
 * Reads price tables from a JSON file: `[{ "since": "2026-12-01", "contentsPage": 0.002, "search": { "auto": 0.008 } }]`, prices in
 * dollars, dates in UTC. Prices that a table omits are those of the table before it, or of the newest built-in table. From the first date
 * of the file on, built-in tables are not used. Throws an `Error` with one line that says what is wrong.
 */
export function readPriceFile(path: string): readonly PriceTable[] {
  const value = readJsonFile(path);
  const problems = problemsOf(fileSchema, value, 'the file');
  if (problems.length > 0) throw new Error(`is not a list of price tables: ${problems.join('; ')}`);
  const inOrder = fileSchema.parse(value).sort((a, b) => a.since.localeCompare(b.since));
  let before = priceTables.at(-1) as PriceTable;
  const tables = inOrder.map((one) => {
    before = changed(before, one);
    return before;
  });
  return [...priceTables.filter(({ since }) => since < (tables[0]?.since ?? '')), ...tables];
}

/** Returns what is wrong with a list of whole price tables; empty for a correct one. */
export const priceTableProblems = (value: unknown) => problemsOf(z.array(wholeTable).min(1), value, 'the list');

const problemsOf = (schema: z.ZodType, value: unknown, whole: string): readonly string[] =>
  (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => `${path.join('.') || whole}: ${message}`);

function changed(before: PriceTable, table: FileTable): PriceTable {
  const { search = {}, searchPage, agentRun, agentUse, ...plain } = table;
  const searches = Object.entries(search).map(([type, price]) => [
    type,
    typeof price === 'number' ? ([[null, price]] as const) : price,
  ]);
  const set = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)) as typeof plain;
  return {
    ...before,
    ...(set as Partial<PriceTable>),
    since: table.since,
    search: { ...before.search, ...Object.fromEntries(searches) },
    searchPage: { ...before.searchPage, ...(searchPage as Partial<PriceTable['searchPage']>) },
    agentRun: { ...before.agentRun, ...agentRun },
    agentUse: { ...before.agentUse, ...(agentUse as Partial<PriceTable['agentUse']>) },
  };
}

const bucket = z.strictObject({
  name: z.string().min(1),
  qps: z.int().min(1).max(10_000),
  classes: z.array(z.string().min(1)).min(1),
  of: z.enum(['team', 'key']).optional(),
});

const profile = z.strictObject({
  name: z.string().min(1),
  buckets: z
    .array(bucket)
    .min(1)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two buckets have the same name')
    .refine(
      (all) => all[0]?.of !== 'key',
      'the first bucket, which is used for all other classes, must belong to the team',
    ),
});

/** Reads a JSON file of a setting. Throws an `Error` that quotes neither the path nor the file, because both may hold a secret. */
export function readJsonFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error('cannot be read: it is not JSON');
    // Messages of the file system have the form `ENOENT: no such file or directory, open '/path'`.
    throw new Error(`cannot be read: ${error instanceof Error ? error.message.split(', ', 1)[0] : 'unknown error'}`);
  }
}

/**
 * Returns what is wrong with a rate profile; empty for a correct one:
 * `{ "name": "ours", "buckets": [{ "name": "all", "qps": 40, "classes": ["*"] }] }`.
 */
export const rateProfileProblems = (value: unknown) => problemsOf(profile, value, 'the profile');
