import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { alertTypes, usualAlerts } from '../../../src/core/alerts/alert.js';
import { readConfig } from '../../../src/worker/config/config.js';
import { SearchflowPlugin } from '../../../src/worker/index.js';
import { folderOfFile } from '../../support/files/folders.js';

const home = folderOfFile();
const program = join(home, 'notify');
writeFileSync(program, '#!/bin/sh\n');
chmodSync(program, 0o755);
const text = join(home, 'notes.txt');
writeFileSync(text, '');

const read = (env: Readonly<Record<string, string>>) =>
  readConfig({ env, flags: {}, cwd: home, say: () => undefined }).alerts;
const hook = 'https://hooks.example.com/T0/secret-token';

it('without a receiver there are no alerts', () => {
  expect(read({})).toBeNull();
  expect(read({ SEARCHFLOW_ALERT_ON: 'all', SEARCHFLOW_ALERT_LAG: '1h' })).toBeNull();
});

it('a webhook reports what a person must know of, unless the setting names other events', () => {
  const usual = read({ SEARCHFLOW_ALERT_URL: hook });
  expect(usual).toMatchObject({ secret: null, command: null, on: usualAlerts, lagMs: 7_200_000 });
  expect(usual?.url?.reveal()).toBe(hook);
  expect(usualAlerts).toContain('job.failed');
  expect(usualAlerts).not.toContain('job.done');
  const url = 'http://127.0.0.1:9000/x';
  expect(
    read({ SEARCHFLOW_ALERT_URL: url, SEARCHFLOW_ALERT_ON: 'job.done, cap.100', SEARCHFLOW_ALERT_LAG: 'none' }),
  ).toMatchObject({ ...{ on: ['job.done', 'cap.100'], lagMs: null } });
  expect(read({ SEARCHFLOW_ALERT_URL: url, SEARCHFLOW_ALERT_ON: 'all' })?.on).toEqual(alertTypes);
});

it('a command is a path, or a list of a path and arguments', () => {
  expect(read({ SEARCHFLOW_ALERT_COMMAND: program })?.command).toEqual([program]);
  expect(read({ SEARCHFLOW_ALERT_COMMAND: JSON.stringify([program, '--to', 'a b']) })?.command).toEqual([
    ...[program, '--to', 'a b'],
  ]);
});

it.each([
  [{ SEARCHFLOW_ALERT_URL: 'http://hooks.example.com/T0/secret-token' }, 'must begin with https'],
  [{ SEARCHFLOW_ALERT_URL: 'hooks.example.com/secret-token' }, 'is not an https address'],
  [{ SEARCHFLOW_ALERT_URL: 'https://user:secret-token@example.com/' }, 'has a user name or password'],
  [{ SEARCHFLOW_ALERT_SECRET: 'secret-token-of-sixteen' }, 'there is none. Set SEARCHFLOW_ALERT_URL'],
  [{ SEARCHFLOW_ALERT_URL: hook, SEARCHFLOW_ALERT_SECRET: 'secret-token' }, 'is shorter than 16'],
  [{ SEARCHFLOW_ALERT_URL: hook, SEARCHFLOW_ALERT_SECRET: 'secret-token of sixteen' }, 'has white space'],
  [{ SEARCHFLOW_ALERT_COMMAND: 'notify' }, 'must be the absolute path of a program'],
  [{ SEARCHFLOW_ALERT_COMMAND: '/no/such/program' }, '"/no/such/program" (environment) does not exist'],
  ...[
    ...['curl -d @- https://hooks.slack.com/services/T0/B0/secret-token', 'curl -H "X-Api-Key: secret-token" h'],
    ...['{"a":"secret-token"}', '/bin/nothere secret-token', 'secret-token'],
  ].map((text): [Record<string, string>, string] => [{ SEARCHFLOW_ALERT_COMMAND: text }, '(not shown)']),
  [{ SEARCHFLOW_ALERT_COMMAND: text }, 'cannot be executed'],
  [{ SEARCHFLOW_ALERT_COMMAND: home }, 'is not a file'],
  [{ SEARCHFLOW_ALERT_COMMAND: '["/x", 1]' }, 'must be a list of a program'],
  [{ SEARCHFLOW_ALERT_COMMAND: '[]' }, 'must be a list of a program'],
  [{ SEARCHFLOW_ALERT_COMMAND: '["/x"' }, 'is neither a path nor a JSON list'],
  ...[
    ['--token', 'secret-token'],
    ['--api-key=secret-token'],
    ['-H', 'Authorization: Bearer secret-token'],
    ['https://u:secret-token@example.com/'],
    ['https://example.com/?sig=secret-token'],
  ].map((args): [Record<string, string>, string] => [
    { SEARCHFLOW_ALERT_COMMAND: JSON.stringify([program, ...args]) },
    'an argument (not shown) (environment) seems to be a secret',
  ]),
  [{ SEARCHFLOW_ALERT_URL: hook, SEARCHFLOW_ALERT_ON: 'job.faild' }, 'did you mean job.failed?'],
  [{ SEARCHFLOW_ALERT_ON: 'everything' }, 'is not an event'],
  [{ SEARCHFLOW_ALERT_ON: 'cap.50' }, 'did you mean cap.80?'],
  [{ SEARCHFLOW_ALERT_ON: 'job.misfits' }, 'is not an event. Events: job.done, '],
  [{ SEARCHFLOW_ALERT_URL: hook, SEARCHFLOW_ALERT_LAG: '30s' }, 'is not a time of at least a minute'],
  [{ SEARCHFLOW_ALERT_URL: hook, SEARCHFLOW_ALERT_LAG: '2 hours' }, 'is not a time of at least a minute'],
] as const)('%j is refused without showing a secret: %s', (env, why) => {
  const message = () => read(env);
  expect(message).toThrow(why);
  expect(message).not.toThrow('secret-token');
});

it('the options of the plugin are the same settings', () => {
  const options = { apiKey: 'k', stateDir: join(home, 'state') };
  expect(
    () => new SearchflowPlugin({ ...options, alertUrl: hook, alertCommand: [program, 'x'], alertOn: ['all'] }),
  ).not.toThrow();
  expect(
    () => new SearchflowPlugin({ ...options, alertUrl: 'http://example.com/secret-token', alertOn: ['job.dne'] }),
  ).toThrow(/^alertUrl: .* must begin with https.*\nalertOn: "job.dne" is not an event; did you mean job.done\?$/);
  expect(() => new SearchflowPlugin({ ...options, alertComand: ['/x'] } as never)).toThrow('alertCommand');
});
