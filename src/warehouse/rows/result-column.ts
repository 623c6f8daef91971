/**
 * Types of values that are read from an answer. A value that does not fit its type is NULL; the answer itself is always kept. `text`
 * accepts any value. `string` also accepts any value, unless fields of the row's answer do not fit their types; then `string` accepts only
 * texts. `onlyText` always accepts only texts, `structure` only objects and lists.
 */
export type ValueType = 'text' | 'string' | 'onlyText' | 'json' | 'structure' | StrictType;

/** Types whose columns are NULL for a value that does not fit. Columns of other types accept any value. */
export const strictTypes = ['number', 'integer', 'boolean', 'date', 'time', 'array', 'object'] as const;
export type StrictType = (typeof strictTypes)[number];

export type Path = readonly string[];

/** A column of a job's view after the user's own. */
export interface ResultColumn {
  readonly name: string;
  readonly csv: boolean;
  readonly from:
    | { readonly stored: string }
    | {
        readonly path: Path;
        readonly type: ValueType;
        /** The JSON column where the path begins: the answer, or the row's part of the answer; in a view of results, also an element of a list. */
        readonly of: string;
      }
    | { readonly count: Path; readonly of: string };
}

export const stored = (name: string, csv = true): ResultColumn => ({ name, csv, from: { stored: name } });
export const read = (name: string, path: Path, type: ValueType = 'string', csv = true): ResultColumn => ({
  name,
  csv,
  from: { path, type, of: 'response' },
});
