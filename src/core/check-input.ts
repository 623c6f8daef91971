import { Check, type InputSchema, whyTooLarge } from './check-value.js';
import { inputSchemas } from './input-schemas.js';

/** Largest input of a workflow, in KB. Temporal takes at most 2 MB, with the state of the workflow. */
const MOST_INPUT_KB = 1024;

/**
 * Returns the problems of a workflow's arguments, one sentence for each field. `strict`: unknown fields are problems, too; inputs from
 * other versions of this program may have unknown fields. Misspelt names and values of requests are left to the first activity, which knows
 * whether its worker sends them unchecked. Pure.
 */
export function inputProblems(workflow: string, args: readonly unknown[], strict: boolean): readonly string[] {
  const large = whyTooLarge(args, MOST_INPUT_KB);
  if (large !== null) return [`${workflow}: the input ${large}.`];
  const schemas: readonly InputSchema[] = JSON.parse(inputSchemas[workflow] ?? '[]');
  const check = new Check(workflow, strict);
  schemas.forEach((schema, index) => {
    const others = index === 0 ? Object.keys(schemas[1]?.properties ?? {}) : [];
    check.value(args[index] ?? {}, schema, index === 0 ? '' : 'options', others);
  });
  if (check.more > 0) check.problems.push(`There are ${check.more} more problems.`);
  return check.problems;
}
