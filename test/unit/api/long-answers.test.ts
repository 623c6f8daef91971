import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJson } from '../../../src/api/answer/read-json.js';
import { listsOf } from '../../../src/api/checks/members.js';

const long = (text: string) => text.repeat(Math.ceil(80_000 / Math.max(1, text.length)));
/** Texts of more than 131,072 bytes, which are parsed in parts. */
const texts = [
  { results: [{ text: long('a\\"],[é') }, 5, { text: long('b') }, {}], statuses: [{ id: 'a' }], other: [] },
  {
    a: { results: [long('no list of the answer')] },
    results: [long('}]'), long('x'), [long('y')]],
    n: [[], [[]], [1, 2]],
  },
  { results: { '0': long('an object') }, text: long('{"results":['), list: [long('z'), null, true] },
].flatMap((value) => [JSON.stringify(value), JSON.stringify(value, null, 2)]);

/** What `JSON.parse` says. */
function parsed(text: string): unknown {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'no JSON';
  }
}

function read(text: string): unknown {
  const found = readJson(Buffer.from(text), true);
  return 'value' in found ? { value: found.value } : 'no JSON';
}

describe('a long answer, which is parsed in parts', () => {
  it.each(texts.map((text, nth) => [nth, text] as const))('has the value of the whole text (%i)', (_nth, text) => {
    expect(Buffer.byteLength(text)).toBeGreaterThan(131_072);
    expect(read(text)).toEqual(parsed(text));
    expect(readJson(Buffer.from(text), true)).toHaveProperty('lists');
  });

  it.each([
    ['an empty element', (text: string) => text.replace(/\[/, '[,')],
    ['a comma before the end of a list', (text: string) => text.replace(/\](?=[^\]]*$)/, ',]')],
    ['a comma before the end', (text: string) => text.replace(/\}\s*$/, ',}')],
    ['a wrong bracket at the end', (text: string) => text.replace(/\}\s*$/, ']')],
    ['more after its end', (text: string) => `${text} 1`],
    ['a byte order mark', (text: string) => `\u{feff}${text}`],
    ['a list twice', (text: string) => text.replace(/\}\s*$/, `,"results":["${long('last')}",1]}`)],
    ['a list that is no list later', (text: string) => text.replace(/\}\s*$/, ',"results":7}')],
    ['an own field __proto__', (text: string) => text.replace(/\}\s*$/, `,"__proto__":["${long('own')}"]}`)],
  ])('with %s is read like a short one', (_what, change) => {
    for (const text of texts) {
      const changed = change(text);
      const plain = changed.charCodeAt(0) === 0xfeff ? changed.slice(1) : changed;
      expect(read(changed)).toEqual(parsed(plain));
    }
  });

  it('with any changed characters is read like a short one', () => {
    const characters = fc.constantFrom(...'[]{},:"\\0e- \nx');
    const places = fc.array(fc.tuple(fc.nat(), characters), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...texts), places, (text, changes) => {
        // Places near the beginning and the end have most of the structure.
        const changed = [...changes].reduce((now, [place, character]) => {
          const at = place % 2 === 0 ? place % 60 : now.length - 1 - (place % 60);
          return now.slice(0, at) + character + now.slice(at + 1);
        }, text);
        expect(read(changed)).toEqual(parsed(changed));
      }),
      { numRuns: 300 },
    );
  });
});

it('the lists of an object have their elements byte for byte, for any content', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 3), (object, spaces) => {
      const json = JSON.stringify(object, null, spaces);
      const found = [...(listsOf(Buffer.from(json)) ?? [])];
      const lists = Object.entries(JSON.parse(json) as object).filter(([, value]) => Array.isArray(value));
      expect(
        Object.fromEntries(
          found.map(([name, elements]) => [name, elements.map((one) => JSON.parse(Buffer.from(one).toString()))]),
        ),
      ).toEqual(Object.fromEntries(lists));
    }),
  );
});
