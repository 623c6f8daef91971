import { execFileSync } from 'node:child_process';
import { chmodSync, statfsSync } from 'node:fs';

const SIZE = '512m';
const mount = (...args) => execFileSync('mount', args, { stdio: 'pipe' });

/** A folder whose disk can be made full: a tmpfs where this process may mount one, otherwise the folder is made read-only. */
export function smallDisk(dir) {
  try {
    mount('-t', 'tmpfs', '-o', `size=${SIZE},mode=0755`, 'searchflow-chaos', dir);
  } catch {
    const isRoot = process.getuid?.() === 0;
    return {
      kind: isRoot ? 'none: this process may not mount, and root writes to read-only folders' : 'read-only folder',
      possible: !isRoot,
      fill: () => chmodSync(dir, 0o555),
      free: () => chmodSync(dir, 0o755),
      remove: () => chmodSync(dir, 0o755),
    };
  }
  return {
    kind: 'full tmpfs',
    possible: true,
    /** Leaves as little space as possible, without using memory for it: a size below the used one is refused, and others write meanwhile. */
    fill() {
      for (let attempt = 0; ; attempt++) {
        const { blocks, bfree, bsize } = statfsSync(dir);
        try {
          return mount('-o', `remount,size=${(blocks - bfree + attempt * 16) * bsize}`, dir);
        } catch (error) {
          if (attempt >= 20) throw error;
        }
      }
    },
    free: () => mount('-o', `remount,size=${SIZE}`, dir),
    remove: () => execFileSync('umount', ['--lazy', dir], { stdio: 'pipe' }),
  };
}
