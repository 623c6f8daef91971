import { fieldOf } from '../../api/checks/field-of.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import { contentTypes } from '../../core/request-values.js';
import { operationFacts, ROW_ID_FIELD, ROWS_FIELD } from '../../core/rows/row-operation.js';
import { jsonText } from '../../core/text/json.js';

/**
 * Returns a function that tells whether an answer has no content: no results, no text, or a structured output without a value. An answer
 * that is no JSON object has content, because its form is unknown.
 */
export function emptyAnswers(
  staged: Pick<StagedJob, 'operation' | 'options'>,
): (answer: Pick<UnitOutcome, 'result'>) => boolean {
  const { values, structured = values, buysPages: isPage } = operationFacts(staged.operation);
  const paths = staged.options.outputSchema ? structured : values;
  return ({ result }) => {
    let answer: unknown;
    try {
      answer = JSON.parse(jsonText(result));
    } catch {
      return false;
    }
    if (typeof answer !== 'object') return false;
    // A page has only the requested values.
    const found = paths.map((path) => path.reduce(fieldOf, answer)).filter((value) => !isPage || value !== undefined);
    return found.length > 0 && found.every(isBlank);
  };
}

/** Whether a value is null, a blank text, or a list or object of such values. The id of a row in a shared run is no value. */
function isBlank(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return !/[^\s\p{Cf}]/u.test(value);
  if (typeof value !== 'object') return false;
  return Object.entries(value).every(([name, one]) => name === ROW_ID_FIELD || isBlank(one));
}

/**
 * Returns why none of the results of an answer, or their subpages, has the requested contents; null if one has, if no contents were requested,
 * or if there are no results. `asked`: the options of the contents.
 */
export function withoutContents(results: readonly object[], asked: unknown): string | null {
  const names = contentTypes.filter((name) => fieldOf(asked, name));
  if (names.length === 0 || results.length === 0) return null;
  const values = fieldOf(asked, 'extras') ? [...contentTypes, 'extras'] : contentTypes;
  const hasContents = (page: unknown): boolean => {
    const subpages = fieldOf(page, 'subpages');
    return (
      values.some((name) => !isBlank(fieldOf(page, name))) || (Array.isArray(subpages) && subpages.some(hasContents))
    );
  };
  return results.some(hasContents)
    ? null
    : `none of its ${results.length} results has the requested ${names.join(', ')}`;
}

/** Returns why the answer to a whole request has nothing of what was requested; null if it has something. */
export function nothingIn(request: object, answer: object): string | null {
  const schema = fieldOf(request, 'outputSchema');
  const results = fieldOf(answer, 'results');
  const hasResults = Array.isArray(results) && results.length > 0;
  if (!hasResults && (!isBlank(fieldOf(answer, 'error')) || fieldOf(answer, 'success') === false))
    return 'it reports an error';
  if ('answer' in answer) {
    // A list without elements is an answer to a question for a list only.
    const isEmptyList = Array.isArray(answer.answer) && answer.answer.length === 0;
    if (holdsNothing(answer.answer) || (isEmptyList && !schema)) return 'its answer is empty';
    if (isUnfit(schema, answer.answer)) return UNFIT;
  }
  const output = fieldOf(answer, 'output');
  if (schema && 'results' in answer) {
    if (isNoOutput(output)) return 'it has no output';
    if (isUnfit(schema, fieldOf(output, 'content'))) return UNFIT;
  }
  if (!hasResults) return null;
  const isPage = (result: unknown) =>
    [fieldOf(result, 'url'), fieldOf(result, 'id')].some((name) => !holdsNothing(name));
  if (!results.some(isPage)) return `none of its ${results.length} results names a page`;
  return isBlank([output, fieldOf(answer, 'context')]) ? withoutContents(results, fieldOf(request, 'contents')) : null;
}

/** Why an answer with a value of another form has nothing of what was requested. */
export const UNFIT = 'its output is no value of the requested schema';

/** Whether a value cannot have the columns of a schema: another value than an object, or than a list, for which the schema asks. */
export function isUnfit(schema: unknown, value: unknown): boolean {
  const type = fieldOf(schema, 'type') ?? (fieldOf(schema, 'properties') ? 'object' : null);
  if (type === 'array') return !Array.isArray(value);
  return type === 'object' && (typeof value !== 'object' || value === null || Array.isArray(value));
}

/** Whether the output of a run or a search has no value in any form. */
export function isNoOutput(output: unknown): boolean {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return holdsNothing(output);
  return Object.entries(output).every(([name, value]) => name === 'grounding' || holdsNothing(value));
}

/** Whether the outputs of a run for several rows have no object for one of them, with more than its id. `unit`: the request of the run. */
export function holdsNoRow(outputs: readonly unknown[], unit: string): boolean {
  return !outputs.some((output) => {
    const rows = fieldOf(fieldOf(output, 'structured'), ROWS_FIELD);
    const isOurs = (row: unknown) => {
      const id = fieldOf(row, ROW_ID_FIELD);
      return typeof id === 'string' && unit.includes(JSON.stringify(id)) && Object.keys(row as object).length > 1;
    };
    return Array.isArray(rows) && rows.some(isOurs);
  });
}

/** Whether a value holds nothing. A list without elements has a value, and so has an object of which all fields are null. */
function holdsNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(holdsNothing);
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return isBlank(value);
}
