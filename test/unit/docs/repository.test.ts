import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(root + path, 'utf8');
const folder = '.github/workflows/';
const workflows = readdirSync(root + folder);

describe.each(workflows)(`${folder}%s`, (name) => {
  const text = read(folder + name);

  it('names each action by the hash of a commit, with its version', () => {
    const actions = text.match(/uses: .*$/gm) ?? [];
    expect(actions.length).toBeGreaterThan(0);
    expect(actions.filter((line) => !/^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it('has a token that may only read, except where a job needs one right more', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read\n\w/m);
    expect(text.match(/\w[\w-]*: write$/gm) ?? []).toEqual(name === 'codeql.yml' ? ['security-events: write'] : []);
  });

  it('keeps no credentials of the checkout, and runs no text of a pull request', () => {
    expect(text.match(/actions\/checkout@/g)).toHaveLength(text.match(/persist-credentials: false/g)?.length ?? 0);
    expect(text).not.toMatch(/pull_request_target|workflow_run|github\.(event|head_ref)|secrets\./);
  });
});

it('the tree has a policy for vulnerabilities, updates of dependencies, static analysis and a licence', () => {
  const files = ['SECURITY.md', 'LICENSE', 'CODE_OF_CONDUCT.md', 'CONTRIBUTING.md', '.github/dependabot.yml'];
  expect(files.filter((file) => !existsSync(root + file))).toEqual([]);
  expect(workflows).toContain('codeql.yml');
  for (const ecosystem of ['npm', 'github-actions', 'docker'])
    expect(read('.github/dependabot.yml')).toContain(`package-ecosystem: ${ecosystem}`);
});
