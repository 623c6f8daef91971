import { addWarnings, MOST_WARNINGS, type ServiceWarning } from '../../core/rows/warnings.js';
import { fieldOf } from '../checks/field-of.js';
import { oneLine, type Redact } from '../checks/redact.js';

/** Most elements of a list of warnings that are read. */
const MOST_READ = 20 * MOST_WARNINGS;
const none: readonly ServiceWarning[] = [];

/** Returns the warnings and notices of an answer, each code and path once. Elements without a code are left out. */
export function readWarnings(answer: unknown, redact: Redact): readonly ServiceWarning[] {
  const [warnings, notices] = [fieldOf(answer, 'warnings'), fieldOf(answer, 'notices')];
  if (!Array.isArray(warnings) && !Array.isArray(notices)) return none;
  const read = (list: unknown, kind: ServiceWarning['kind']): readonly ServiceWarning[] =>
    !Array.isArray(list)
      ? none
      : list.slice(0, MOST_READ).flatMap((one: unknown) => {
          const text = (name: string, most: number): string => {
            const value = fieldOf(one, name);
            return typeof value === 'string' ? oneLine(redact(value).replace(/\p{Cs}/gu, '\ufffd'), most) : '';
          };
          // The code becomes a word of a command.
          const code = text('code', 64).replace(/[^\w.:-]/g, '_');
          return code === '' ? [] : [{ kind, code, path: text('path', 200), message: text('message', 300) }];
        });
  return addWarnings(addWarnings(none, read(warnings, 'warning')), read(notices, 'notice'));
}
