import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/worker/config/config.js';

const base = { SEARCHFLOW_API_KEY: 'canary-5f2e91c4' };
const read = (env: Record<string, string>, service?: 'sandbox') =>
  readConfig({ env: { ...base, ...env }, flags: { service }, cwd: '/data', say: () => undefined }).wire;
function refusal(env: Record<string, string>): string {
  try {
    return `not refused: ${JSON.stringify(read(env))}`;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('SEARCHFLOW_HEADERS', () => {
  it.each([
    ['x-team: data, X-Stage: test', { 'x-team': 'data', 'X-Stage': 'test' }],
    ['x-team=data', { 'x-team': 'data' }],
    ['x-team: data\n x-url:https://a.example/?b=c \n', { 'x-team': 'data', 'x-url': 'https://a.example/?b=c' }],
    ['{"x-team": "data, all", "x-empty": ""}', { 'x-team': 'data, all', 'x-empty': '' }],
  ])('%j is read', (text, headers) => {
    expect(read({ SEARCHFLOW_HEADERS: text })).toMatchObject({ headers });
  });

  it.each([
    'sesame',
    'x-team: data, sesame',
    'Basic sesame: x',
    '{"x-team": "sesame"',
    '{"x-team": 1, "x": "sesame"}',
    '["sesame"]',
    '{"x-team": "sesame\\u00e9"}',
    'authorization: sesame',
    'x-team: a\u0000sesame',
  ])('%j is refused and not shown', (text) => {
    const message = refusal({ SEARCHFLOW_HEADERS: text });
    expect(message).toMatch(/SEARCHFLOW_HEADERS/);
    expect(message).not.toMatch(/sesame/);
  });
});

describe('SEARCHFLOW_BETA', () => {
  it('is a list of tokens, and SEARCHFLOW_BETA_HEADER their header', () => {
    expect(read({ SEARCHFLOW_BETA: 'a-2026-01-01, b_c', SEARCHFLOW_BETA_HEADER: 'x-beta' })).toMatchObject({
      beta: ['a-2026-01-01', 'b_c'],
      betaHeader: 'x-beta',
    });
    expect(read({})).toEqual({ proxy: null, setting: 'SEARCHFLOW_BASE_URL' });
  });

  it.each(['sesame!', 'a,,sesame', 'a b', `sesame${'x'.repeat(100)}`])('%j is refused and not shown', (text) => {
    const message = refusal({ SEARCHFLOW_BETA: text });
    expect(message).toContain('SEARCHFLOW_BETA: the value (not shown) (environment) is not a list of tokens');
    expect(message).not.toMatch(/sesame/);
  });

  it.each(['not a name', 'x-api-key'])('header %j is refused', (name) => {
    expect(() => read({ SEARCHFLOW_BETA_HEADER: name })).toThrow(/SEARCHFLOW_BETA_HEADER/);
  });
});

it('the sandbox has no proxy, and a proxy of a wrong address is refused without it', () => {
  const env = { HTTPS_PROXY: 'http://u:sesame@proxy.example:3128' };
  expect(read(env)).toMatchObject({ proxy: { https: expect.anything() } });
  expect(read(env, 'sandbox')).toMatchObject({ proxy: null });
  expect(read({ ...env, NO_PROXY: '*' })).toMatchObject({ proxy: null });
  expect(() => read({ HTTPS_PROXY: 'ftp://sesame' })).toThrow(/^HTTPS_PROXY \(not shown\) must be/m);
});
