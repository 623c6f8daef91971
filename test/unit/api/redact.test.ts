import { expect, it } from 'vitest';
import { createRedact, createRedactBytes } from '../../../src/api/checks/redact.js';
import { Secret } from '../../../src/core/connections/secret.js';

const key = '5Ae1f0c2-7B44+4d5e/9a01=c3';
const redact = createRedact(new Secret(key), ['tok3n of the gateway']);
const base64 = (text: string) => Buffer.from(text).toString('base64');

it.each([
  ['as it is', key],
  ['in lower case', key.toLowerCase()],
  ['in upper case', key.toUpperCase()],
  ['in a URL', encodeURIComponent(key)],
  ['in a URL in lower case', encodeURIComponent(key).toLowerCase()],
  ['wholly escaped for a URL', Buffer.from(key).toString('hex').replace(/../g, '%$&')],
  ['half escaped for a URL', key.replace(/[a-f]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)],
  ['escaped for JSON', key.replace(/./gs, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)],
  ['escaped for HTML', key.replace(/\W/g, (one) => `&#${one.charCodeAt(0)};`)],
  ['in hex', Buffer.from(key).toString('hex')],
  ['as a header', 'TOK3N OF THE GATEWAY'],
])('a key that is repeated %s is not shown', (_how, repeated) => {
  expect(redact(`no such key: ${repeated}!`)).toBe('no such key: [redacted]!');
});

it('a key with quotes, backslashes and letters beyond ASCII is not shown in JSON or in a URL', () => {
  const odd = 'p"a\\s é😀 word';
  const shown = createRedact(new Secret(odd));
  for (const text of [odd, JSON.stringify(odd), encodeURIComponent(odd), encodeURI(odd)])
    expect(shown(text).replaceAll('"', '')).toBe('[redacted]');
});

it('a key inside of a text in Base64 is not shown, at any place', () => {
  for (const before of ['', ':', 'x-', 'Bearer ', 'Authorization: Bearer ']) {
    for (const after of ['', ':', '\n{}', ' and more']) {
      for (const text of [base64(before + key + after), Buffer.from(before + key + after).toString('base64url')]) {
        const shown = redact(text);
        expect(shown).toContain('[redacted]');
        expect(Buffer.from(shown.replace('[redacted]', ''), 'base64').toString('latin1')).not.toContain(
          key.slice(2, 8),
        );
      }
    }
  }
});

it('a value of a header is not shown, however short: of less than four characters as a word of its own', () => {
  const short = createRedact(null, ['s3cret', ' a1 ', '', '+']);
  expect(short('no s3cret, a1 or "a1"; xs3cretx, a12')).toBe(
    'no [redacted], [redacted] or "[redacted]"; x[redacted]x, a12',
  );
});

it('a short key is no part of longer words in Base64, and no key redacts nothing', () => {
  expect(createRedact(new Secret('test'))('dGVzdA== test')).toBe('dGVzdA== [redacted]');
  expect(createRedact(null)('any text')).toBe('any text');
});

it('the bytes of an answer lose a plain key, and all others stay the same object', () => {
  const clean = createRedactBytes(new Secret(key));
  const [odd, echo] = [Buffer.from('{"a":"é"}'), Buffer.from(`{"h":"${key}","u":"${encodeURIComponent(key)}","é":1}`)];
  expect(clean(odd)).toBe(odd);
  expect(clean(echo).toString()).toBe('{"h":"[redacted]","u":"[redacted]","é":1}');
  // A short key is a word of many answers.
  const text = Buffer.from('a test');
  expect(createRedactBytes(new Secret('test'))(text)).toBe(text);
});
