import type { SchemaChange } from '../row-job-schemas.js';
/** A column of the input of a job (`input`) or of its answers (`output`). `type` is absent for a column of texts without a type. */
export interface SchemaColumn {
  readonly of: 'input' | 'output';
  readonly name: string;
  readonly type?: string;
}

const NO_TYPE = 'text';
const LISTED = 10;

/** Returns the changes between the columns of two runs, in the order of the newer columns; removed columns come last. */
export function schemaChanges(before: readonly SchemaColumn[], now: readonly SchemaColumn[]): readonly SchemaChange[] {
  const keyOf = ({ of, name }: SchemaColumn) => `${of} ${name}`;
  const earlier = new Map(before.map((column) => [keyOf(column), column]));
  const later = new Set(now.map(keyOf));
  const changed = now.flatMap((column): SchemaChange[] => {
    const { of, name, type: to = NO_TYPE } = column;
    const known = earlier.get(keyOf(column));
    if (!known) return [{ of, name, change: 'added' }];
    const { type: from = NO_TYPE } = known;
    return from === to ? [] : [{ of, name, change: 'type', from, to }];
  });
  const removed = before.filter((column) => !later.has(keyOf(column)));
  return [...changed, ...removed.map(({ of, name }): SchemaChange => ({ of, name, change: 'removed' }))];
}

/** Returns the changes as a list in words, such as `input column "city" added, output column "size": text instead of integer`. */
export function schemaChangesText(changes: readonly SchemaChange[]): string {
  const texts = changes.slice(0, LISTED).map(({ of, name, change, from, to }) => {
    const column = `${of} column ${JSON.stringify(name)}`;
    return change === 'type' ? `${column}: ${to} instead of ${from}` : `${column} ${change}`;
  });
  const more = changes.length - texts.length;
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
