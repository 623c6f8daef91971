import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../../src/cli/program.js';
import { hasScheme, whyNoPath } from '../../../src/core/rows/source-fields.js';
import { whyNoTarget } from '../../../src/warehouse/index.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { commandsIn } from '../../support/cli/wrong-lines.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();

const program = buildProgram('0.0.0', () => undefined);
/** Each flag of a file or folder of this machine, with its command. An input may be an address. */
const flags = commandsIn(program).flatMap((command) => {
  const path: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) path.unshift(at.name());
  const values = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
  const files = command.options.filter(({ flags, long }) => /<(file|dir)>/.test(flags) && long !== '--from');
  return files.flatMap(({ long }) =>
    long === '--settings' || long === undefined || long === null ? [] : [[[...path, ...values], long] as const],
  );
});

describe('an address where a file is written or read', () => {
  it.each(flags)('is refused by %j %s, and never shown', async (words, flag) => {
    expect(flags.length).toBeGreaterThan(8);
    for (const address of ['s3://bucket/x.csv', 'gs://bucket/x', 'mysql://u:canary@h/x', 'jdbc:mysql://u:canary@h/x']) {
      const { code, errors } = await typed([...words, flag, address]);
      expect([address, code]).toEqual([address, 2]);
      expect(errors).toContain(`${flag}: the value (not shown) is an address`);
      expect(errors).not.toContain('canary');
    }
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.each(['csv', 'parquet'] as const)('is no target of an export as %s, also as an absolute path', (kind) => {
    for (const address of ['s3://bucket/x', 'mysql://u:canary@h/x']) {
      const why = whyNoTarget(kind, join(cwd, address), {});
      expect(why).toContain('is an address');
      expect(why).not.toContain('canary');
    }
    expect(whyNoTarget(kind, join(cwd, 'a:b'), {})).toBeNull();
  });

  it('is known by its scheme', () => {
    for (const address of ['s3://b', 'S3:/b', '/cwd/gs:/b/x', 'jdbc:mysql://h', 'abfss://x@y/z'])
      expect([address, hasScheme(address)]).toEqual([address, true]);
    for (const path of ['a.csv', 'C:\\out\\a.csv', 'C:/out', 'a:b.csv', 'out/10:30.csv', '/a/b'])
      expect([path, hasScheme(path)]).toEqual([path, false]);
    for (const path of ['C:\\out\\a.csv', 'C:/out', 'c:/a.csv', '/cwd/C:/a.csv']) {
      expect(whyNoPath(path, 'linux')).toContain('has a drive of Windows');
      expect(whyNoPath(path, 'win32')).toBeNull();
    }
    for (const path of ['a.csv', 'a:b.csv', 'out/10:30.csv']) expect(whyNoPath(path, 'linux')).toBeNull();
  });
});

async function typed(words: readonly string[]) {
  const { code, usage, err } = await typeCommand(cwd, words);
  return { code, errors: `${usage}${err}` };
}
