import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Temporal's test server from Maven Central: the SDK would download the same program without Java from elsewhere. */
function testServer(folder: string): string {
  const dependency =
    '<dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>1.31.0</version></dependency>';
  writeFileSync(
    join(folder, 'pom.xml'),
    `<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version><dependencies>${dependency}</dependencies></project>`,
  );
  execFileSync('mvn', ['--quiet', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], { cwd: folder });
  const program = join(folder, 'test-server');
  const java = `exec java -cp '${join(folder, 'lib', '*')}' io.temporal.testserver.TestServer "$@"`;
  writeFileSync(program, `#!/bin/sh\n${java}\n`);
  chmodSync(program, 0o755);
  return program;
}

it('the unit test of examples/enrich-rows passes, and its day takes no time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'searchflow-test-server-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('npx', ['tsc', '-p', 'examples/enrich-rows'], { cwd: root });
  const { stdout, status } = spawnSync(process.execPath, ['--test', 'examples/enrich-rows/lib/workflows.test.js'], {
    ...{ cwd: root, encoding: 'utf8' },
    env: { ...process.env, TEMPORAL_TEST_SERVER: testServer(folder) },
  });
  expect(status, stdout).toBe(0);
  expect(stdout).toMatch(/^# pass 2$/m);
});
