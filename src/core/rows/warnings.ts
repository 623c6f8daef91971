import type { ServiceWarning } from '../row-job-schemas.js';

/** Maximum number of warnings and notices of one run that are kept, each code and path once. */
export const MOST_WARNINGS = 50;

/** Adds warnings of which no other with the same code and path is known. */
export function addWarnings(
  known: readonly ServiceWarning[],
  more: readonly ServiceWarning[],
): readonly ServiceWarning[] {
  const firsts = new Map<string, ServiceWarning>();
  for (const one of [...known, ...more]) {
    const place = JSON.stringify([one.kind, one.code, one.path]);
    if (!firsts.has(place)) firsts.set(place, one);
  }
  return [...firsts.values()].slice(0, MOST_WARNINGS);
}

/** Returns the warnings that stop a job: those whose code is not accepted. */
export const notAccepted = (
  warnings: readonly ServiceWarning[],
  accepted: readonly string[] = [],
): readonly ServiceWarning[] => warnings.filter(({ kind, code }) => kind === 'warning' && !accepted.includes(code));

/** Returns a warning as a text without a dot at its end. */
export const warningText = ({ code, path, message }: ServiceWarning): string =>
  `${code}${path === '' ? '' : ` at ${path}`}${message === '' ? '' : `: ${message.replace(/\.$/, '')}`}`;
