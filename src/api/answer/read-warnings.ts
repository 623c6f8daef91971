import { createHash } from 'node:crypto';
import { addWarnings, MOST_WARNINGS, type ServiceWarning } from '../../core/rows/warnings.js';
import { fieldOf } from '../checks/field-of.js';
import { oneLine, type Redact } from '../checks/redact.js';

/** Most elements of a list of warnings that are read. */
const MOST_READ = 20 * MOST_WARNINGS;
const none: readonly ServiceWarning[] = [];

/** The fields that may have the code or the text of a warning. */
const codes = ['code', 'type', 'tag', 'name'];
const texts = ['message', 'text', 'detail', 'description', 'title', 'reason', 'warning'];
/** A code becomes a word of a command. */
const codeOf = (text: string): string => text.replace(/[^\w.:-]/g, '_').slice(0, MOST_CODE);
const MOST_CODE = 64;

/**
 * Returns the warnings and notices of an answer, each code and path once. A warning without a code has its text as the code, without the words
 * that have digits, because these may differ from answer to answer.
 */
export function readWarnings(answer: unknown, redact: Redact): readonly ServiceWarning[] {
  const [warnings, notices] = [fieldOf(answer, 'warnings'), fieldOf(answer, 'notices')];
  if (!warnings && !notices) return none;
  const line = (value: unknown, most: number): string =>
    typeof value === 'string' || typeof value === 'number'
      ? oneLine(redact(`${value}`).replace(/\p{Cs}/gu, '\ufffd'), most)
      : '';
  const first = (one: unknown, names: readonly string[], most: number) =>
    names.map((name) => line(fieldOf(one, name), most)).find((text) => text !== '') ?? '';
  const read = (list: unknown, kind: ServiceWarning['kind']): readonly ServiceWarning[] =>
    (Array.isArray(list) ? list.slice(0, MOST_READ) : [list]).flatMap((one: unknown) => {
      const isObject = typeof one === 'object' && Object.values(one ?? {}).some((value) => /\S/.test(`${value ?? ''}`));
      const given = codeOf(first(one, codes, MOST_CODE));
      const said = isObject ? first(one, texts, 300) : typeof one === 'string' ? line(one, 300) : '';
      const message = said || given || !isObject ? said : line(JSON.stringify(one), 300);
      const code = given || ownCode(message);
      return code === '' ? [] : [{ kind, code, path: first(one, ['path', 'field', 'pointer'], 200), message }];
    });
  return addWarnings(addWarnings(none, read(warnings, 'warning')), read(notices, 'notice'));
}

function ownCode(message: string): string {
  const words = message.split(' ').filter((word) => !/\d/.test(word));
  const code = codeOf(words.map((word) => word.replace(/[^\w.:-]|^\W+|\W+$/g, '')).join('_')).replace(/_+$/, '');
  return code || message === '' ? code : `TEXT_${createHash('sha256').update(message).digest('hex').slice(0, 8)}`;
}
