import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageUrlOf, requestUnit } from '../../../src/core/purchase/unit-key.js';

describe('spellings of one page', () => {
  it.each([
    ['https://up.example.com/', 'https://up.example.com', 'HTTPS://UP.EXAMPLE.COM/', 'https://up.example.com:443/'],
    ['http://up.example.com/', 'http://up.example.com:80', 'http://up.example.com:/', 'HTTP://Up.Example.Com:080'],
    [
      'https://up.example.com/',
      'https://up.example.com/#team',
      'https://up.example.com#',
      'https://up.example.com/#:~:text=a',
    ],
    ['https://a.example/~b/c.d', 'https://a.example/%7Eb/c%2Ed', 'https://a.example/%7eb/%63.d'],
    ['https://a.example/%C3%A9%2F', 'https://a.example/%c3%a9%2f', 'https://a.example/é%2F'],
    ['https://a.example/b/', 'https://a.example/./b/', 'https://a.example/x/../b/', 'https://a.example/%2e/b/x/..'],
    ['https://a.example/?Q=%2F&a=b', 'https://A.example?Q=%2f&%61=b', 'https://a.example/?Q=%2F&a=b#top'],
    ['https://xn--mnchen-3ya.de/', 'https://münchen.de', 'https://MÜNCHEN.de/', 'https://XN--MNCHEN-3YA.DE:443'],
    ['http://[2001:db8::1]/', 'http://[2001:DB8::1]:80', 'http://[2001:db8:0:0:0:0:0:1]/'],
    ['https://ann:Pw@a.example/', 'https://ann:Pw@A.EXAMPLE', 'HTTPS://ann:Pw@a.example:443/'],
    ['https://a.example/#/one', 'https://A.example#/one', 'https://a.example:443/#/%6Fne'],
    ['https://a.example/#!one', 'HTTPS://a.example/#!one'],
  ])('%s', (page, ...others) => {
    expect(others.map(pageUrlOf)).toEqual(others.map(() => page));
    expect(pageUrlOf(page)).toBe(page);
  });

  it.each([
    ['https://a.example/', 'http://a.example/'],
    ['https://a.example/', 'https://www.a.example/'],
    ['https://a.example/', 'https://a.example./'],
    ['https://a.example/', 'https://a.example:8443/'],
    ['https://a.example/', 'https://a.example//'],
    ['https://a.example/', 'https://a.example/?'],
    ['https://a.example/', 'https://a.example/#/'],
    ['https://a.example/', 'https://a.example/#!'],
    ['https://a.example/#/one', 'https://a.example/#/two'],
    ['https://a.example/b', 'https://a.example/b/'],
    ['https://a.example/b', 'https://a.example/B'],
    ['https://a.example/b', 'https://a.example/b?'],
    ['https://a.example/a/b', 'https://a.example/a%2Fb'],
    ['https://a.example/?a=1&b=2', 'https://a.example/?b=2&a=1'],
    ["https://a.example/?q='", 'https://a.example/?q=%27'],
    ['https://a.example/?q=a+b', 'https://a.example/?q=a%20b'],
    ['https://ann@a.example/', 'https://a.example/'],
    ['https://@a.example/', 'https://a.example/'],
    ['https://ann@a.example/', 'https://ANN@a.example/'],
    ['https://a.example/\u200b', 'https://a.example/'],
    ['https://a.example\\b', 'https://a.example/b'],
    ['https://a.example/100%', 'https://a.example/100%25'],
  ])('are not %s and %s', (one, other) => {
    expect(pageUrlOf(one)).not.toBe(pageUrlOf(other));
  });

  it.each(['', 'a.example', 'https:///a.example', 'ftp://A.example', 'http://[::1', 'https://A b/', 'info@A.example'])(
    'are only those of http URLs: %j stays',
    (text) => {
      expect(pageUrlOf(text)).toBe(text);
    },
  );

  it('have a spelling that stays, is a URL of the same host, and is found in short time', () => {
    fc.assert(
      fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), (url) => {
        const page = pageUrlOf(url);
        expect(pageUrlOf(page)).toBe(page);
        expect(new URL(page).host).toBe(new URL(url).host);
      }),
    );
    const begun = performance.now();
    pageUrlOf(`https://a.example/${'a.'.repeat(1000)}%`);
    expect(performance.now() - begun).toBeLessThan(1000);
  });

  it('are one request about a page, whose other fields stay as they are', () => {
    const request = { url: 'HTTPS://a.example', includeDomains: ['HTTPS://b.example'] };
    expect(requestUnit(request)).toBe('{"includeDomains":["HTTPS://b.example"],"url":"https://a.example/"}');
  });
});
