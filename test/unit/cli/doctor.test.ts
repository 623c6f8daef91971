import { expect, it } from 'vitest';
import { doctorData, doctorText } from '../../../src/cli/set-up/doctor.js';
import type { Finding } from '../../../src/worker/doctor/databases.js';

const found: readonly Finding[] = [
  { check: 'node', ok: true, why: 'Node 20.', mend: null },
  { check: 'state-folder', ok: false, why: 'It is\u001b[31m full.', mend: 'Free some space:\n  rm big' },
  { check: 'clock', ok: true, why: 'It is 9 s behind.', mend: 'Set it.' },
];

it('a finding is a line, what to do is below it, and a command is on a line of its own', () => {
  expect(doctorText(doctorData(found)).split('\n')).toEqual([
    'ok       node          Node 20.',
    'problem  state-folder  It is full.',
    '                       Free some space:',
    '                         rm big',
    'note     clock         It is 9 s behind.',
    '                       Set it.',
    '',
    '1 problem.',
  ]);
});

it('the output of --json has each finding and the number of problems', () => {
  expect(doctorData(found)).toEqual({
    ...{ kind: 'doctor', problems: 1 },
    checks: [found[0], { ...found[1], why: 'It is full.' }, found[2]],
  });
});
