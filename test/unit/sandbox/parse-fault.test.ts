import { expect, test } from 'vitest';
import { parseFault } from '../../../src/sandbox/index.js';

test.each([
  [
    'every=20 kind=status status=429 retryAfter=3',
    { when: { every: 20 }, do: { kind: 'status', status: 429, retryAfter: '3' } },
  ],
  [
    'probability=0.01 seed=7 kind=reset moment=after limit=5',
    { when: { probability: 0.01, seed: 7 }, do: { kind: 'reset', moment: 'after' }, limit: 5 },
  ],
  [
    'nth=3 path=/search kind=status status=500 charged=true',
    { when: { nth: 3, path: '/search' }, do: { kind: 'status', status: 500, charged: true } },
  ],
  [
    'kind=stall moment=body ms=1000 untilMs=600000',
    { when: { untilMs: 600_000 }, do: { kind: 'stall', moment: 'body', ms: 1000 } },
  ],
  [
    '{"when":{"nth":1},"do":{"kind":"body","body":"two words"}}',
    { when: { nth: 1 }, do: { kind: 'body', body: 'two words' } },
  ],
])('%s is a fault', (text, fault) => {
  expect(parseFault(text)).toEqual(fault);
});

test.each([
  ['every=20', 'kind'],
  ['every=x kind=drip', 'every'],
  ['every=2 nth=2 kind=drip', 'one of nth, every and probability'],
  ['evry=2 kind=drip', 'evry'],
  ['reset', 'reset'],
  ['probability=2 kind=drip', 'probability'],
  ['kind=reset moment=during', 'moment'],
  ['{"when":', 'JSON'],
])('%s is refused, naming %s', (text, name) => {
  expect(() => parseFault(text)).toThrow(name);
});
