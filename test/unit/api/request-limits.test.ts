import { describe, expect, test } from 'vitest';
import { type LimitProfile, limitProfiles } from '../../../src/api/checks/limits.js';
import { type ContentsRequest, contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { type SearchRequest, searchEndpoint } from '../../../src/api/endpoints/search.js';
import { rateClassOf } from '../../../src/api/wire/endpoint.js';

const list = (count: number): string[] => Array.from({ length: count }, (_, index) => `https://a.example/${index}`);
const contract: LimitProfile = 'contract';
const live: LimitProfile = 'live';

describe('a search', () => {
  test.each<[Partial<SearchRequest>, LimitProfile]>([
    [{ numResults: 1 }, contract],
    [{ numResults: 100 }, contract],
    [{ includeDomains: list(1200), excludeDomains: list(1200) }, contract],
    [{ includeText: ['one two three four five'] }, contract],
    [{ additionalQueries: ['b'], type: 'deep' }, contract],
    [{ additionalQueries: ['b'], type: 'deep-reasoning' }, live],
    [{ userLocation: 'de', type: 'nobody-knows', category: 'neither' }, contract],
    [{ userLocation: { latitude: 1, longitude: 2 } }, live],
    [{ startPublishedDate: '2026-01-31', endPublishedDate: '2026-01-31T10:00:00.000Z' }, contract],
    [{ startCrawlDate: '2026-01-31T10:00:00+01:00' }, contract],
    [{ category: 'company', excludeDomains: ['a.example'] }, contract],
    [{ contents: { text: { maxCharacters: 1_000_000 }, highlights: true, maxAgeHours: -1 } }, live],
    [{ includeText: list(50) }, live],
  ])('with %j passes %s', (fields, profile) => {
    expect(searchEndpoint.check({ query: 'q', ...fields }, limitProfiles[profile])).toBeNull();
  });

  test.each<[Partial<SearchRequest>, LimitProfile, string, string]>([
    [{ query: '' }, contract, 'query', 'query is empty; at least 1 character (profile contract)'],
    [{ query: ' \n' }, contract, 'query', 'query is empty'],
    [{ numResults: 101 }, contract, 'numResults', 'numResults is 101; at most 100 (profile contract)'],
    [{ numResults: 0 }, live, 'numResults', 'numResults is 0; at least 1 (profile live)'],
    [{ numResults: 1.5 }, contract, 'numResults', 'numResults is 1.5; it must be a whole number'],
    [{ includeDomains: list(1201) }, contract, 'includeDomains', 'includeDomains has 1201 entries; at most 1200'],
    [{ excludeDomains: list(1201) }, contract, 'excludeDomains', 'at most 1200'],
    [{ includeText: ['a', 'b'] }, contract, 'includeText', 'includeText has 2 entries; at most 1'],
    [
      { excludeText: ['a b c d e f'] },
      contract,
      'excludeText',
      'excludeText is "a b c d e f" with 6 words; at most 5 words',
    ],
    [
      { additionalQueries: ['b'] },
      contract,
      'additionalQueries',
      'is combined with type "auto"; it is only allowed with type deep',
    ],
    [
      { additionalQueries: ['b'], type: 'deep-lite' },
      contract,
      'additionalQueries',
      'it is only allowed with type deep',
    ],
    [{ additionalQueries: list(11), type: 'deep' }, live, 'additionalQueries', 'has 11 entries; at most 10'],
    [{ userLocation: 'DEU' }, contract, 'userLocation', 'userLocation is "DEU"; it must be a two-letter'],
    [{ userLocation: { country: 'DE' } }, contract, 'userLocation', 'is an object'],
    [{ startPublishedDate: 'yesterday' }, contract, 'startPublishedDate', 'is "yesterday"; it must be an ISO 8601'],
    [{ endCrawlDate: '2026-13-01' }, contract, 'endCrawlDate', 'ISO 8601'],
    [{ category: 'people', startPublishedDate: '2026-01-01' }, live, 'startPublishedDate', 'category "people"'],
    [
      { contents: { highlights: { numSentences: 0 } } },
      contract,
      'contents.highlights.numSentences',
      'is 0; at least 1',
    ],
    [{ contents: { livecrawlTimeout: 90_001 } }, live, 'contents.livecrawlTimeout', 'at most 90000'],
    [{ stream: true }, contract, 'stream', 'reads a whole answer'],
  ])('with %j is refused by %s', (fields, profile, field, message) => {
    const found = searchEndpoint.check({ query: 'q', ...fields }, limitProfiles[profile]);
    expect(found?.field).toBe(field);
    expect(found?.message).toContain(message);
  });

  test('uses the deep bucket only if it is deep', () => {
    expect(rateClassOf(searchEndpoint, { query: 'q' })).toBe('search');
    expect(rateClassOf(searchEndpoint, { query: 'q', type: 'deep-reasoning' })).toBe('search.deep');
  });
});

describe('a contents request', () => {
  test.each<[ContentsRequest, LimitProfile]>([
    [{ urls: list(100) }, contract],
    [{ urls: [`https://a.example/${'x'.repeat(2030)}`] }, contract],
    [{ urls: ['HTTP://A.example'], text: true, summary: { query: 'q', schema: {} }, extras: { links: 5 } }, contract],
    [{ ids: ['any id'] }, contract],
    [{ urls: list(2), subpages: 50 }, live],
    [{ urls: list(2), subpages: 500 }, contract],
  ])('%# passes', (input, profile) => {
    expect(contentsEndpoint.check(input, limitProfiles[profile])).toBeNull();
  });

  test.each<[ContentsRequest, LimitProfile, string, string]>([
    [{}, contract, 'urls', 'urls is missing'],
    [{ urls: [] }, contract, 'urls', 'urls has 0 entries; at least 1'],
    [{ urls: list(101) }, contract, 'urls', 'urls has 101 entries; at most 100 (profile contract)'],
    [{ urls: list(1), ids: ['x'] }, contract, 'ids', 'ids is combined with urls'],
    [{ ids: [] }, contract, 'ids', 'ids has 0 entries'],
    [{ urls: ['https://a.example', ''] }, contract, 'urls[1]', 'urls[1] is empty'],
    [{ urls: [`https://a.example/${'x'.repeat(2031)}`] }, contract, 'urls[0]', 'has 2049 characters; at most 2048'],
    [{ urls: ['javascript:alert(1)'] }, contract, 'urls[0]', 'it must be an http or https URL'],
    [{ urls: ['https://'] }, contract, 'urls[0]', 'it must be an http or https URL'],
    [{ urls: ['a.example'] }, contract, 'urls[0]', 'it must be an http or https URL'],
    [{ urls: list(3), subpages: 50 }, live, 'subpages', '150 in all; at most 100'],
    [{ urls: list(1), maxAgeHours: 721 }, live, 'maxAgeHours', 'at most 720'],
    [{ urls: list(1), extras: { links: -1 } }, live, 'extras.links', 'at least 0'],
    [{ urls: list(1), text: { maxCharacters: 0 } }, live, 'text.maxCharacters', 'at least 1'],
  ])('%# is refused', (input, profile, field, message) => {
    const found = contentsEndpoint.check(input, limitProfiles[profile]);
    expect(found?.field).toBe(field);
    expect(found?.message).toContain(message);
  });

  test('never shows more than the start of a URL', () => {
    const found = contentsEndpoint.check({ urls: ['ftp://user:hunter2@a.example'] }, limitProfiles.contract);
    expect(found?.message).not.toContain('hunter2');
  });
});
