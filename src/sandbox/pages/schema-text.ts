import { choose, mix } from '../base/hash.js';
import { sentences } from '../base/sentences.js';
import type { Schema } from './resolve-schema.js';

const day = (hash: number) => new Date(Date.UTC(2015, 0, 1) + (mix(hash, 78) % 3650) * 86_400_000).toISOString();
const hex = (hash: number, digits: number) =>
  [1, 2, 3, 4]
    .map((salt) =>
      mix(hash, 500 + salt)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('')
    .slice(0, digits);
const word = (hash: number) => choose(['harbour', 'northwind', 'archive', 'field', 'radio', 'winter'], hash, 79);

const formats: Readonly<Record<string, (hash: number) => string>> = {
  uri: (hash) => `https://${word(hash)}-${mix(hash, 80) % 1000}.example/`,
  url: (hash) => `https://${word(hash)}-${mix(hash, 80) % 1000}.example/`,
  'uri-reference': (hash) => `/${word(hash)}`,
  email: (hash) => `${word(hash)}@site-${mix(hash, 80) % 1000}.example`,
  'idn-email': (hash) => `${word(hash)}@site-${mix(hash, 80) % 1000}.example`,
  date: (hash) => day(hash).slice(0, 10),
  'date-time': day,
  time: (hash) => day(hash).slice(11),
  duration: (hash) => `P${1 + (mix(hash, 80) % 30)}D`,
  uuid: (hash) => hex(hash, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5'),
  hostname: (hash) => `${word(hash)}-${mix(hash, 80) % 1000}.example`,
  ipv4: (hash) => `192.0.2.${mix(hash, 80) % 256}`,
  ipv6: (hash) => `2001:db8::${(mix(hash, 80) % 65_536).toString(16)}`,
};

/** Text that matches a schema: its format or simple pattern, and its length, which is counted in letters. */
export function textFor(schema: Schema, hash: number): string {
  const format = typeof schema.format === 'string' ? formats[schema.format] : undefined;
  if (format) return format(hash);
  const pattern = typeof schema.pattern === 'string' ? patternText(schema.pattern, hash) : null;
  if (pattern !== null) return pattern;
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  let letters = [...choose(sentences, hash, 76)];
  while (letters.length < least) letters = [...letters, ' ', ...choose(sentences, mix(hash, letters.length), 76)];
  return letters.slice(0, Math.max(least, Math.min(letters.length, most))).join('');
}

const piece = /\\([dws])|\[([^\]\\]+)\]|\\(.)|([^\\[\](){}*+?|^$.])|(\.)/y;
const times = /\{(\d+)(?:,(\d*))?\}|([*+?])/y;
const classes: Readonly<Record<string, string>> = { d: '0123456789', w: 'abcdefgh', s: ' ' };

/** Text for a pattern of letters, classes and counts, such as `^[A-Z]{2}-\d+$`; null for any other pattern. */
function patternText(pattern: string, hash: number): string | null {
  const source = pattern.replace(/^\^/, '').replace(/\$$/, '');
  let text = '';
  for (let at = 0; at < source.length; ) {
    piece.lastIndex = at;
    const found = piece.exec(source);
    if (!found) return null;
    at = piece.lastIndex;
    const letters = found[1]
      ? (classes[found[1]] as string)
      : found[2]
        ? members(found[2])
        : (found[3] ?? found[4] ?? 'a');
    if (letters === '') return null;
    times.lastIndex = at;
    const count = times.exec(source);
    if (count) at = times.lastIndex;
    const repeat = count ? (count[1] ? Number(count[1]) : count[3] === '?' ? 0 : 1) : 1;
    for (let one = 0; one < repeat; one += 1) text += letters[mix(hash, text.length + 600) % letters.length];
  }
  return new RegExp(pattern).test(text) ? text : null;
}

function members(list: string): string {
  if (list.startsWith('^')) return '';
  return list.replace(/(.)-(.)/g, (_, from: string, to: string) => {
    const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)];
    return String.fromCharCode(
      ...Array.from({ length: Math.max(0, last - first + 1) }, (_one, index) => first + index),
    );
  });
}
