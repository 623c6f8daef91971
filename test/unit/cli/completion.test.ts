import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { candidates } from '../../../src/cli/completion/candidates.js';
import { rememberSchedules } from '../../../src/cli/completion/known-names.js';
import { shellLine } from '../../../src/cli/completion/shell-line.js';
import { byArgument, byFlag } from '../../../src/cli/completion/values.js';
import { buildProgram } from '../../../src/cli/program.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { commandsIn } from '../../support/cli/wrong-lines.js';

const program = buildProgram('0.0.0', () => undefined);
const names = { jobs: ['companies', 'events-sync'], schedules: ['nightly'] };
const at = (line: string) => {
  const words = line.split(' ').slice(1);
  const { kind, all } = candidates(program, words.slice(0, -1), words.at(-1) ?? '', names);
  return kind === 'words' ? all.map(({ value }) => value) : kind;
};

describe('candidates', () => {
  it.each([
    ['searchflow mon', ['monitors']],
    ['searchflow schedule ', ['list', 'show', 'pause', 'resume', 'trigger', 'delete', 'backfill']],
    ['searchflow monitors unpause --of-', ['--of-schedule']],
    ['searchflow --quiet jobs --state can', ['cancelled']],
    ['searchflow jobs --state=can', ['--state=cancelled']],
    ['searchflow usage --by ', ['job', 'operation', 'day']],
    ['searchflow status ', ['companies', 'events-sync']],
    ['searchflow status companies ', []],
    ['searchflow report t', ['team']],
    ['searchflow publish companies --to out --mode m', ['merge']],
    ['searchflow schedule show ', ['nightly']],
    ['searchflow agent run --effort xh', ['xhigh']],
    ['searchflow enrich --tz Europe/Berl', ['Europe/Berlin']],
    ['searchflow enrich x.csv --dry', ['--dry-run']],
    ['searchflow status -- --j', []],
    ['searchflow jobs --no-such=', []],
    ['searchflow no-such ', []],
  ])('"%s" is completed with %j', (line, expected) => {
    expect(at(line)).toEqual(expected);
  });

  it.each(['enrich ', 'enrich x.csv --csv ', 'enrich x.csv --csv=', 'enrich x.csv --into ', 'monitors create '])(
    '"%s" is completed with files',
    (line) => {
      expect(at(`searchflow ${line}`)).toBe('files');
    },
  );

  it('a folder is completed with folders, and a rate profile with names or files', () => {
    expect(at('searchflow export companies --parquet ')).toBe('folders');
    expect(at('searchflow worker --rate-profile b')).toEqual(['boost']);
    expect(at('searchflow worker --rate-profile my/')).toBe('files');
  });

  it('the value of a flag is optional where the flag works without it', () => {
    expect(at('searchflow wait --fail-on-failed-rows ')).toEqual(['companies', 'events-sync']);
  });

  it('each flag and each argument with values of its own exists', () => {
    const all = commandsIn(program);
    const flags = all.flatMap(({ options }) => options.map(({ long }) => long));
    expect(Object.keys(byFlag).filter((flag) => !flags.includes(flag))).toEqual([]);
    const args = all.flatMap((command) => {
      const path = command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name();
      return command.registeredArguments.map((argument) => `${path} ${argument.name()}`);
    });
    expect(Object.keys(byArgument).filter((argument) => !args.includes(argument))).toEqual([]);
  });
});

it.each([
  ['a b', ['a', 'b'], null],
  ['a ', ['a', ''], null],
  [`a 'b c' "d e" f\\ g`, ['a', 'b c', 'd e', 'f g'], null],
  [`a --b='c d`, ['a', '--b=c d'], 4],
  ['a "b\\"c', ['a', 'b"c'], 0],
  ['a \\', ['a', ''], null],
])('the line %s has the words %j', (line, words, quotedFrom) => {
  expect(shellLine(line)).toEqual({ words, quotedFrom });
});

describe('the command', () => {
  let cwd: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'searchflow-completion-'));
  });
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));
  const type = (...words: readonly string[]) => typeCommand(cwd, ['completion', ...words]);

  it('prints a script for each shell, and refuses others with the right ones', async () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      expect(await type(shell)).toMatchObject({ code: 0, out: expect.stringContaining(`completion ${shell} -- `) });
    expect(await type('tcsh')).toMatchObject({ code: 2, usage: expect.stringContaining('bash, zsh, fish') });
  });

  it('answers in the form of each shell', async () => {
    const [line, breaks] = ['searchflow jobs --state=waiting', ' =:'];
    expect((await type('bash', '--', line, breaks)).out).toBe("words\nwaiting\n'waiting for a worker'\n");
    expect((await type('bash', '--', `searchflow jobs --state="waiting f`, breaks)).out).toBe(
      'words\nwaiting for a worker\n',
    );
    expect((await type('zsh', '--', 'schedule', 'sho')).out).toBe(
      'words\nshow:show a schedule and the results of its last runs\n',
    );
    expect((await type('fish', '--', 'jobs', '--state', "'pau")).out).toBe('words\npaused\n');
  });

  it('completes with the schedules that commands of the folder saw, and prints nothing else about a broken folder', async () => {
    const stateDir = join(cwd, '.searchflow');
    const list = async () => (await type('fish', '--', 'schedule', 'show', '')).out;
    expect(await list()).toBe('words\n');
    mkdirSync(join(stateDir, 'jobs'), { recursive: true });
    await rememberSchedules(stateDir, () => ['nightly', 'weekly', 'a\u001b[31mb']);
    expect(await list()).toBe('words\nnightly\nweekly\n');
    await rememberSchedules(stateDir, (before) => before.filter((name) => name !== 'weekly'));
    writeFileSync(join(stateDir, 'jobs', 'broken.json'), '{');
    expect(await list()).toBe('words\nnightly\n');
    writeFileSync(join(stateDir, 'schedule-names.json'), '{');
    expect(await type('fish', '--', 'status', '')).toMatchObject({ code: 0, out: 'words\n', err: '' });
  });
});
