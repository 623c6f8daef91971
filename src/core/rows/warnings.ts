/** A warning or notice of the service about a request. `path`: a JSON pointer to the field; it may be empty. */
export interface ServiceWarning {
  readonly kind: 'warning' | 'notice';
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Maximum number of warnings and notices of one run that are kept, each code and path once. */
export const MOST_WARNINGS = 50;

/** Adds warnings of which no other with the same code and path is known. */
export function addWarnings(
  known: readonly ServiceWarning[],
  more: readonly ServiceWarning[],
): readonly ServiceWarning[] {
  const seen = new Set<string>();
  const isFirst = ({ kind, code, path }: ServiceWarning) => {
    const place = JSON.stringify([kind, code, path]);
    return !seen.has(place) && seen.add(place).has(place);
  };
  return [...known, ...more].filter(isFirst).slice(0, MOST_WARNINGS);
}

/** Returns the warnings that stop a job: those whose code is not accepted. */
export const notAccepted = (
  warnings: readonly ServiceWarning[],
  accepted: readonly string[] = [],
): readonly ServiceWarning[] => warnings.filter(({ kind, code }) => kind === 'warning' && !accepted.includes(code));

/** Returns a warning as a text without a dot at its end. */
export const warningText = ({ code, path, message }: ServiceWarning): string =>
  `${code}${path === '' ? '' : ` at ${path}`}${message === '' ? '' : `: ${message.replace(/\.$/, '')}`}`;
