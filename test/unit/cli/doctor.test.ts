import { expect, it } from 'vitest';
import { doctorData, doctorLines } from '../../../src/cli/set-up/doctor.js';
import type { Finding } from '../../../src/worker/doctor/finding.js';

const found: readonly Finding[] = [
  { check: 'node', level: 'ok', text: 'Node 20.', mend: null, command: null },
  {
    check: 'state-folder',
    level: 'problem',
    text: 'It is\u001b[31m full.',
    mend: 'Free some space:',
    command: 'rm big',
  },
  { check: 'clock', level: 'warning', text: 'It is 9 s behind.', mend: 'Set it.', command: null },
];

it('a finding is a line, what to do is below it, and a command is on a line of its own', () => {
  expect(doctorLines(found)).toEqual([
    'ok       node          Node 20.',
    'problem  state-folder  It is full.',
    '                       Free some space:',
    '                         rm big',
    'warning  clock         It is 9 s behind.',
    '                       Set it.',
  ]);
});

it('the output of --json has each finding and the numbers of problems and warnings', () => {
  expect(doctorData(found)).toEqual({
    ...{ kind: 'doctor', problems: 1, warnings: 1 },
    checks: [found[0], { ...found[1], text: 'It is full.' }, found[2]],
  });
});
