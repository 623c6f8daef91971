import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export interface PackedPackage {
  /** The tarball that would be published. */
  readonly tarball: string;
  /** A project folder. Its `node_modules` has the unpacked tarball and the libraries that the package needs. */
  readonly project: string;
  /** Paths in the package, sorted. */
  readonly files: readonly string[];
  remove(): void;
}

/** Packs the package as for publication, and unpacks it into the `node_modules` of a project. `folder`: the begin of its name. */
export function packPackage(folder = 'searchflow-packed-'): PackedPackage {
  const project = mkdtempSync(join(tmpdir(), folder));
  const out = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  const packed: unknown = JSON.parse(out);
  const [report] = (Array.isArray(packed) ? packed : Object.values(packed as object)) as [
    { filename: string; files: { path: string }[] },
  ];
  const tarball = join(project, report.filename);
  const installed = join(project, 'node_modules', 'searchflow');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  for (const name of readdirSync(join(root, 'node_modules')).filter((entry) => !entry.startsWith('.')))
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name), 'junction');
  return {
    tarball,
    project,
    files: report.files.map(({ path }) => path).sort(),
    remove: () => rmSync(project, { recursive: true, force: true }),
  };
}
