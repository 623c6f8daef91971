import type { DefaultScheme } from '../../core/rows/job.js';
import { isRowOperation, type RowOperation, rowOperations } from '../../core/rows/row-operation.js';
import type { Json } from '../../core/text/json.js';
import type { EnrichRequest } from '../../worker/config/runtime-types.js';
import { type ContentsFlags, toContentsOptions } from '../options/contents-flags.js';
import { checkEffort } from '../options/effort-option.js';
import { readObject } from '../options/read-object.js';
import { setOnce } from '../options/set-once.js';

/** Flags of the request for each row. */
export interface RowRequestFlags extends ContentsFlags {
  readonly op?: string;
  readonly query?: string;
  /** File with the whole request, as JSON. */
  readonly request?: string;
  readonly numResults?: string;
  /** File with the JSON Schema of the output. */
  readonly schema?: string;
  readonly effort?: string;
  readonly rowsPerRun?: string;
  readonly unchecked?: boolean;
  readonly urlColumn?: string;
  readonly defaultScheme?: DefaultScheme;
  readonly batch?: string;
}

type RowRequest = Pick<EnrichRequest, 'operation' | 'template' | 'options' | 'rowsPerRun' | 'unchecked'>;

/** Flags that each operation accepts; every operation also accepts `--request` and `--option`. */
const takes: Readonly<Record<RowOperation, readonly (keyof RowRequestFlags)[]>> = {
  contents: ['text', 'highlights', 'summary', 'maxAgeHours', 'urlColumn', 'defaultScheme', 'batch'],
  search: ['query', 'numResults', 'schema', 'text', 'highlights', 'summary', 'maxAgeHours'],
  answer: ['query', 'schema', 'text'],
  agent: ['query', 'schema', 'effort', 'rowsPerRun'],
};
const limited = [...new Set(Object.values(takes).flat())];
const spelled = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Returns the operation, template and options that the flags describe; adds a sentence to `mistakes` for each invalid flag. */
export function toRowRequest(flags: RowRequestFlags, cwd: string, mistakes: string[]): RowRequest {
  const operation = readOperation(flags, mistakes);
  for (const name of limited) {
    if (flags[name] === undefined || takes[operation].includes(name)) continue;
    const takers = rowOperations.filter((one) => takes[one].includes(name));
    mistakes.push(`${spelled(name)} is for --op ${takers.join(', ')}, not for ${operation}.`);
  }
  if (operation === 'contents') {
    if (flags.request !== undefined)
      mistakes.push('--request is not for --op contents. Name another operation with --op.');
    return { options: toContentsOptions(flags, mistakes), unchecked: flags.unchecked };
  }
  const request = readRequest(flags, operation, cwd, mistakes);
  const rowsPerRun = readWhole(flags.rowsPerRun, '--rows-per-run', 100, mistakes);
  return {
    operation,
    ...request,
    rowsPerRun,
    unchecked: flags.unchecked,
  };
}

function readOperation({ op }: RowRequestFlags, mistakes: string[]): RowOperation {
  if (op === undefined || isRowOperation(op)) return op ?? 'contents';
  mistakes.push(`--op: '${op}' must be one of ${rowOperations.join(', ')}.`);
  return 'contents';
}

/** Returns the fields of the request that flags set. Fields that are rendered for each row are not included: the template has them. */
function readRequest(flags: RowRequestFlags, operation: RowOperation, cwd: string, mistakes: string[]) {
  const [template, options] = [new Map<string, Json>(), new Map<string, Json>()];
  const setters = new Map<string, string>();
  const put = (name: string, value: Json, flag: string, rendered: boolean) => {
    setOnce(setters, name, flag, mistakes);
    (rendered ? template : options).set(name, value);
  };
  const file = flags.request === undefined ? null : readObject('--request', flags.request, cwd, mistakes);
  for (const [name, value] of Object.entries(file ?? {})) put(name, value, '--request', true);
  if (flags.query !== undefined) put('query', flags.query, '--query', true);
  else if (flags.request === undefined) {
    mistakes.push(`${operation} needs --query TEMPLATE, such as "{{name}} official site", or --request FILE.`);
  }
  const schema = flags.schema === undefined ? null : readObject('--schema', flags.schema, cwd, mistakes);
  if (schema !== null) put('outputSchema', schema, '--schema', false);
  checkEffort(flags.effort, flags.unchecked, mistakes);
  if (flags.effort !== undefined) put('effort', flags.effort, '--effort', false);
  const numResults = readWhole(flags.numResults, '--num-results', 9999, mistakes);
  if (numResults !== undefined) put('numResults', numResults, '--num-results', false);
  const { option, ...pages } = flags;
  const contents = toContentsOptions(pages, mistakes);
  if (operation === 'answer' && contents.text) put('text', true, '--text', false);
  else if (Object.keys(contents).length > 0) put('contents', contents, '--text', false);
  for (const [name, value] of Object.entries(toContentsOptions(option ? { option } : {}, mistakes))) {
    put(name, value, `--option ${name}`, /\{[{%]/.test(JSON.stringify(value)));
  }
  return {
    ...(template.size > 0 ? { template: Object.fromEntries(template) } : {}),
    options: Object.fromEntries(options),
  };
}

function readWhole(text: string | undefined, flag: string, most: number, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= most) return Number(text);
  mistakes.push(`${flag}: '${text}' must be a whole number from 1 to ${most}.`);
  return undefined;
}
