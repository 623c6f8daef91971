import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { serverUsers } from '../../support/worker/server-users.js';

const users = serverUsers();

it.skipIf(process.getuid?.() !== 0)(
  'another user of the machine cannot read the files of the embedded server',
  async () => {
    await users.here(60_000);
    const list = (path: string) => execFileSync('/bin/ls', [path], { uid: 65534, gid: 65534 });
    expect(() => list(users.stateDir)).toThrow(/denied/);
  },
);
