// node scripts/set-up.mjs [program] [argument …]: makes a clone ready to run: installs from the lock file and builds, each only when needed.
// Then runs the program, in this process so that it gets its signals. npm runs no `pre` scripts here (`.npmrc`). In a clone nothing may be
// installed yet, so it needs Node and npm only. All its output goes to stderr: the program's stdout is data.
import { pathToFileURL } from 'node:url';
import { build, upToDate } from './build.mjs';
import { install, installed } from './install.mjs';
import { alone } from './lock.mjs';
import { inRoot } from './root.mjs';

const wanted = [20, 19];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > wanted[0] || (major === wanted[0] && minor >= wanted[1])) return;
  throw new Error(`searchflow needs Node ${wanted.join('.')} or newer, this is ${process.versions.node}.`);
}

const say = (sentence) => process.stderr.write(`${sentence}\n`);

try {
  checkNode();
  if (!installed() || !upToDate()) {
    alone(say, () => {
      if (!installed()) install(say);
      if (!upToDate()) build(say);
    });
  }
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
const program = process.argv[2];
if (program !== undefined) {
  process.argv.splice(1, 2, inRoot(program));
  await import(pathToFileURL(inRoot(program)).href);
}
