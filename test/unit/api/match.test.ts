import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchContents } from '../../../src/api/endpoints/match.js';

const ok = (id: string, more: object = {}) => ({ id, status: 'success', ...more });
const page = (url: string, more: object = {}) => ({ id: url, url, title: `of ${url}`, ...more });

describe('fault 9: results are matched by id, never by position', () => {
  test('a result with a status of success is a success, with its source', () => {
    const { units } = matchContents(['https://a.example/'], {
      results: [page('https://a.example/', { new: { field: 1 } })],
      statuses: [ok('https://a.example/', { source: 'cached' })],
    });
    expect(units).toEqual([
      {
        url: 'https://a.example/',
        status: 'success',
        errorTag: null,
        httpStatus: null,
        source: 'cached',
        result: page('https://a.example/', { new: { field: 1 } }),
      },
    ]);
  });

  test.each<[string, object, string, number | null]>([
    ['its tag and page status', { error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404 } }, 'CRAWL_NOT_FOUND', 404],
    ['a default tag if there is none', { error: null }, 'CRAWL_UNKNOWN_ERROR', null],
    ['a default tag if it is empty', { error: { tag: '', httpStatusCode: null } }, 'CRAWL_UNKNOWN_ERROR', null],
    ['an unknown tag', { error: { tag: 'NEW_TAG' } }, 'NEW_TAG', null],
  ])('an error status becomes %s', (_name, more, tag, httpStatus) => {
    const { units } = matchContents(['https://a.example'], {
      results: [],
      statuses: [{ id: 'https://a.example', status: 'error', ...more }],
    });
    expect(units[0]).toMatchObject({ status: 'error', errorTag: tag, httpStatus, result: null });
  });

  test('a success without a result has no content, and a URL without either is missing', () => {
    const { units } = matchContents(['https://a.example', 'https://b.example'], {
      results: [],
      statuses: [ok('https://a.example')],
    });
    expect(units.map((unit) => unit.errorTag)).toEqual(['NO_CONTENT', 'MISSING_FROM_RESPONSE']);
  });

  test('without statuses a result is a success', () => {
    expect(matchContents(['https://a.example'], { results: [page('https://a.example')] }).units[0]?.status).toBe(
      'success',
    );
  });

  test('an unknown status is a success with a result and an error without', () => {
    const statuses = ['https://a.example', 'https://b.example'].map((id) => ({ id, status: 'partial' }));
    const { units } = matchContents(['https://a.example', 'https://b.example'], {
      results: [page('https://a.example')],
      statuses,
    });
    expect(units.map((unit) => [unit.status, unit.errorTag])).toEqual([
      ['success', null],
      ['error', 'CRAWL_UNKNOWN_ERROR'],
    ]);
  });

  test.each([
    ['http://a.example', 'https://a.example'],
    ['https://a.example/x', 'https://a.example/X'],
    ['https://a.example/?a=1', 'https://a.example/?a=2'],
    ['https://www.a.example', 'https://a.example'],
    ['https://a.example:8443', 'https://a.example'],
  ])('%s is not %s', (asked, came) => {
    const { units, unmatched } = matchContents([asked], { results: [page(came)] });
    expect(units[0]?.errorTag).toBe('MISSING_FROM_RESPONSE');
    expect(unmatched).toHaveLength(1);
  });

  test('an exact id takes precedence over an equal URL, so a redirect takes nothing from its target page', () => {
    const results = [
      { id: 'https://a.example', url: 'https://b.example', title: 'by a' },
      { id: 'https://b.example', url: 'https://b.example', title: 'by b' },
    ];
    const { units } = matchContents(['https://b.example', 'https://a.example'], { results });
    expect(units.map((unit) => unit.result)).toEqual([results[1], results[0]]);
  });

  test('the first of several results or statuses of one URL counts', () => {
    const { units, unmatched } = matchContents(['https://a.example'], {
      results: [page('https://a.example', { title: 'first' }), page('https://a.example', { title: 'second' })],
      statuses: [ok('https://a.example'), { id: 'https://a.example', status: 'error' }],
    });
    expect(units[0]).toMatchObject({ status: 'success', result: { title: 'first' } });
    expect(unmatched).toEqual([]);
  });

  test('an error keeps a result of its own and takes none by its URL', () => {
    const statuses = [{ id: 'https://b.example', status: 'error', error: { tag: 'CRAWL_TIMEOUT' } }];
    const own = matchContents(['https://b.example'], { results: [page('https://b.example')], statuses });
    expect(own.units[0]).toMatchObject({ errorTag: 'CRAWL_TIMEOUT', result: { id: 'https://b.example' } });
    const other = matchContents(['https://b.example'], {
      results: [{ id: 'https://a.example', url: 'https://b.example' }],
      statuses,
    });
    expect(other.units[0]).toMatchObject({ errorTag: 'CRAWL_TIMEOUT', result: null });
  });

  test('a result without id and URL, or for an unrequested URL, is unmatched', () => {
    const results = [{ title: 'nameless' }, page('https://z.example'), { id: null, url: null }];
    expect(matchContents(['https://a.example'], { results }).unmatched).toEqual(results);
  });

  const urls = fc.uniqueArray(fc.webUrl({ withQueryParameters: true }), { minLength: 1, maxLength: 20 });

  test('every URL gets its own result, in any order, with repeats and with other results', () => {
    fc.assert(
      fc.property(urls, fc.infiniteStream(fc.nat()), fc.nat(3), (asked, order, extra) => {
        const others = Array.from({ length: extra }, (_, index) => page(`https://nobody-asked.example/${index}`));
        const twice = [...asked, ...asked].map((url) => ({ id: url, url, mine: url }));
        const shuffle = <T>(items: readonly T[]): T[] =>
          items
            .map((item) => ({ item, key: order.next().value ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .map(({ item }) => item);
        const { units, unmatched } = matchContents(asked, {
          results: shuffle([...twice, ...others]),
          statuses: shuffle(asked.map((url) => ok(url))),
        });
        expect(units.map((unit) => unit.url)).toEqual(asked);
        for (const unit of units) expect(unit).toMatchObject({ status: 'success', result: { mine: unit.url } });
        expect(unmatched).toHaveLength(extra);
      }),
    );
  });

  test('a URL whose result is missing is an error, and takes no other result', () => {
    const plain = fc.uniqueArray(fc.nat(1000), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(plain, fc.func(fc.boolean()), (numbers, stays) => {
        const asked = numbers.map((number) => `https://a.example/${number}`);
        const came = asked.filter((url) => stays(url));
        const { units } = matchContents(asked, { results: came.map((url) => page(url)) });
        for (const unit of units) {
          if (came.includes(unit.url)) expect(unit.result).toMatchObject({ id: unit.url });
          else expect(unit).toMatchObject({ status: 'error', errorTag: 'MISSING_FROM_RESPONSE', result: null });
        }
      }),
    );
  });
});

describe('spellings of a page in an answer', () => {
  const found = (urls: readonly string[], ids: readonly string[]) =>
    matchContents(urls, { results: ids.map((id) => page(id)), statuses: ids.map((id) => ok(id)) }).units.map(
      ({ result }) => (result as { id?: string } | null)?.id ?? null,
    );

  test('a page is not given to another requested page', () => {
    expect(found(['https://a.example/b', 'https://a.example/b/'], ['https://A.example/b/'])).toEqual([
      null,
      'https://A.example/b/',
    ]);
    const routes = ['https://a.example/#/one', 'https://a.example/#/two'];
    expect(found(routes, [...routes].reverse())).toEqual(routes);
    expect(found(routes, ['https://a.example/#/two'])).toEqual([null, 'https://a.example/#/two']);
  });
});
