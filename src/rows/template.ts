import { Liquid, type Template } from 'liquidjs';
import { CodedError } from '../core/errors/coded-error.js';
import type { Json } from '../core/text/json.js';
import { nearest } from '../core/text/nearest.js';
import { quoted } from './csv-error.js';

/** An invalid template. The message is one sentence with the position. Nothing was staged. */
export class TemplateError extends CodedError {
  override readonly name = 'TemplateError';
}

/**
 * Limits of the rendering of one row, in characters of the template, in ms and in units of memory. The limits are far above the needs of
 * normal templates. The time includes pauses of the process; such pauses must not cause the refusal of a good row.
 */
const LIMITS = { parseLimit: 1_000_000, renderLimit: 5_000, memoryLimit: 10_000_000 } as const;
const MAX_DEPTH = 20;

/**
 * The engine of all templates. Cells are only data: a cell that contains `{{` is not rendered again. Templates cannot include files. A
 * variable without a value is an error, except in the `default` filter and in an `if`.
 */
const engine = new Liquid({
  ...LIMITS,
  strictVariables: true,
  strictFilters: true,
  lenientIf: true,
  ownPropertyOnly: true,
  // Without a prototype: the engine would take a name such as `constructor` for a template.
  templates: Object.create(null) as Record<string, string>,
  cache: false,
});

type Part = { readonly text: Template[]; readonly names: readonly string[]; readonly path: string };
type Compiled =
  | null
  | boolean
  | number
  | Part
  | readonly Compiled[]
  | { readonly fields: readonly [string, Compiled][] };

/** A row has an empty cell that the template requires. */
export class MissingValue extends Error {
  override readonly name = 'MissingValue';
  constructor(
    readonly column: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Compiles JSON whose texts are Liquid templates over the columns of a table, such as `{{name}}` or `{{Website URL}}`. In tags and filter
 * arguments, a name that is not a word is written as `row["Website URL"]`. Filters are allowed: `{{name | strip | default: "unknown"}}`.
 * White space around a rendered text is removed. Throws {@link TemplateError} for an invalid template or an unknown column.
 */
export function compileTemplate(template: Json, columns: readonly string[]) {
  const used = new Set<string>();
  const compiled = compile(template, '', columns, used, 0);
  if (used.size === 0) {
    throw new TemplateError(
      'row-template-constant',
      `The template uses no column, so every row would send the same request; add a column in double braces, such as {{${columns[0] ?? 'name'}}}`,
    );
  }
  return {
    /** The columns that the template uses, in the order of the header. */
    columns: columns.filter((name) => used.has(name)),
    /** Renders the JSON of one row. Throws `MissingValue` if a required cell is empty. */
    render(cells: readonly (string | null)[]): Json {
      const row: Record<string, string | undefined> = Object.create(null);
      // An empty cell has no value, so that a request with a gap is not bought.
      // Liquid would take an absent `size` for the number of columns.
      for (const [index, name] of columns.entries())
        row[name] = cells[index]?.trim() ? (cells[index] as string) : undefined;
      return render(compiled, { ...row, row });
    },
  };
}

function compile(value: Json, path: string, columns: readonly string[], used: Set<string>, depth: number): Compiled {
  if (depth > MAX_DEPTH)
    throw new TemplateError('row-template-invalid', `The template is nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value === 'string') return compileText(value, path, columns, used);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    return value.map((item, index) => compile(item as Json, `${path}[${index}]`, columns, used, depth + 1));
  }
  const fields = Object.entries(value).map(([name, item]): [string, Compiled] => [
    name,
    compile(item as Json, path === '' ? name : `${path}.${name}`, columns, used, depth + 1),
  ]);
  return { fields };
}

function compileText(text: string, path: string, columns: readonly string[], used: Set<string>): Part {
  const subject = subjectOf(path);
  try {
    const parsed = engine.parse(withRowLookups(text, columns));
    const names = engine.globalVariableSegmentsSync(parsed).flatMap(([first, ...rest]) => {
      if (first === 'row' && rest.length === 0 && columns.includes('row'))
        throw new TemplateError(
          'row-template-invalid',
          `${subject} names row, which is the whole row; in tags and filters write the column "row" as ${lookup('row')}`,
        );
      if (first !== 'row' || rest.length === 0) return [String(first)];
      // A name of a lookup may come from another cell.
      return typeof rest[0] === 'string' ? [rest[0]] : [];
    });
    for (const name of names) {
      if (!columns.includes(name)) {
        throw new TemplateError(
          'row-template-unknown-column',
          `${subject} names ${quoted(name)}, which is not a column; the columns are ${columns.slice(0, 30).map(quoted).join(', ')}${hint(name, text, columns)}`,
        );
      }
      used.add(name);
    }
    return { text: parsed, names, path };
  } catch (error) {
    if (error instanceof TemplateError) throw error;
    const meant = columns.find((name) => !isWord(name) && name.trim() !== '' && text.includes(name));
    const way =
      meant === undefined ? '' : `; in tags and filters write the column ${quoted(meant)} as ${lookup(meant)}`;
    throw new TemplateError('row-template-invalid', `${subject} is invalid: ${firstLine(error)}${way}`);
  }
}

/** Matches the parts of an output such as `{{ Website URL | strip }}`. Also matches `raw` blocks, because their content is no output. */
const OUTPUT = /(\{%-?\s*raw\s*-?%\}[\s\S]*?\{%-?\s*endraw\s*-?%\})|(\{\{-?)\s*([\s\S]*?)\s*(-?\}\})/g;
/** Words that Liquid reads as values or operators and not as column names. */
const reserved = ['true', 'false', 'nil', 'null', 'empty', 'blank', 'row', 'and', 'or', 'not', 'contains'];

/** Whether Liquid reads this column name as one variable. */
const isWord = (name: string): boolean => /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name) && !reserved.includes(name);

const lookup = (name: string): string => `row[${JSON.stringify(name)}]`;

/** Replaces column names that are not words by lookups in `row`, because Liquid would read `Website URL` as two variables. */
function withRowLookups(text: string, columns: readonly string[]): string {
  const longestFirst = [...columns].sort((a, b) => b.length - a.length);
  return text.replace(OUTPUT, (whole, raw: string | undefined, open: string, inner: string, close: string) => {
    if (raw !== undefined) return whole;
    const isNamed = (name: string) => inner.startsWith(name) && /^\s*(\||$)/.test(inner.slice(name.length));
    const exact = longestFirst.find((name) => name !== '' && isNamed(name));
    if (exact !== undefined && isWord(exact)) return whole;
    const column = exact ?? longestFirst.find((name) => name.trim() !== '' && isNamed(name.trim()));
    if (column === undefined) return whole;
    return `${open} ${lookup(column)}${inner.slice((exact ?? column.trim()).length)} ${close}`;
  });
}

/** Suggests a column for an unknown name, written as in the template. */
function hint(name: string, text: string, columns: readonly string[]): string {
  const plain = (from: string) => from.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  const outputs = [...text.matchAll(OUTPUT)].flatMap(([, , , inner]) => inner?.split('|', 1)[0]?.trim() ?? []);
  const asked = outputs.find((inner) => inner.includes(name)) ?? name;
  const meant =
    columns.find((column) => plain(column) !== '' && [plain(asked), plain(name)].includes(plain(column))) ??
    nearest(asked, columns) ??
    nearest(name, columns);
  if (meant === null || meant.trim() === '') return '';
  return `; did you mean {{${meant}}}${isWord(meant) ? '' : ` (in tags and filters ${lookup(meant)})`}?`;
}

function render(value: Compiled, scope: object): Json {
  if (value === null || typeof value !== 'object') return value;
  if ('text' in value) return renderText(value, scope);
  if (Array.isArray(value)) return value.map((item) => render(item as Compiled, scope));
  const { fields } = value as { readonly fields: readonly [string, Compiled][] };
  return Object.fromEntries(fields.map(([name, item]) => [name, render(item, scope)]));
}

function renderText(part: Part, scope: object): Json {
  try {
    return String(engine.renderSync(part.text, scope)).trim();
  } catch (error) {
    const reported = error as { originalError?: { variableName?: unknown } };
    const variable = reported.originalError?.variableName;
    if (typeof variable !== 'string')
      throw new TemplateError('row-template-invalid', `${subjectOf(part.path)} fails: ${firstLine(error)}`);
    const name = variable.replace(/^row\./, '');
    throw new MissingValue(part.names.includes(name) ? name : (part.names[0] ?? name), firstLine(error));
  }
}

function subjectOf(path: string): string {
  return path === '' ? 'The template' : `The template of ${path}`;
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split('\n', 1)[0] as string).slice(0, 300);
}
