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
    /**
     * Makes the tmpfs as small as its contents, so that the disk is full without using memory. The system refuses a size below the used
     * one, and other processes write meanwhile, so each attempt allows 16 blocks more.
     */
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
