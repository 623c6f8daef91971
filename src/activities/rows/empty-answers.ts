import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { StagedJob } from '../../core/rows/job.js';
import { ROW_ID_FIELD } from '../../core/rows/row-operation.js';
import { jsonText } from '../../core/text/json.js';

type Path = readonly string[];

/** The values of a page, of which only the requested ones are in its result. */
const pageValues: readonly Path[] = [['text'], ['highlights'], ['summary']];

/**
 * Returns a function that tells whether an answer has no content: no results, no text, or a structured output without a value. An answer
 * that is no JSON object has content, because its form is unknown.
 */
export function emptyAnswers(
  staged: Pick<StagedJob, 'operation' | 'options'>,
): (answer: Pick<UnitOutcome, 'result'>) => boolean {
  const paths = valuesOf(staged);
  const isPage = paths === pageValues;
  return ({ result }) => {
    let answer: unknown;
    try {
      answer = JSON.parse(jsonText(result));
    } catch {
      return false;
    }
    if (typeof answer !== 'object') return false;
    const values = paths.map((path) => path.reduce(fieldOf, answer)).filter((value) => !isPage || value !== undefined);
    return values.length > 0 && values.every(isBlank);
  };
}

/** The paths of the values that an answer is bought for. */
function valuesOf({ operation, options }: Pick<StagedJob, 'operation' | 'options'>): readonly Path[] {
  const hasSchema = Boolean(options.outputSchema);
  switch (operation) {
    case 'search':
      return hasSchema ? [['output', 'content']] : [['results']];
    case 'findSimilar':
      return [['results']];
    case 'answer':
      return [['answer']];
    case 'agent':
      return hasSchema ? [['output', 'structured']] : [['output', 'text']];
    case 'research':
      return [['data'], ['output']];
    default:
      return pageValues;
  }
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

/** Whether a value is null, a blank text, or a list or object of such values. The id of a row in a shared run is no value. */
function isBlank(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (typeof value !== 'object') return false;
  return Object.entries(value).every(([name, one]) => name === ROW_ID_FIELD || isBlank(one));
}
