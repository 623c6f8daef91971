// Makes a clone ready to run: installs from the lock file and builds, each only when needed. Runs before `npm start`,
// `npm test`, `npm pack` and `npm run searchflow`, in clones where nothing is installed yet, so it needs Node and npm only.
// All its output goes to stderr: the command's stdout is data.
import { build, upToDate } from './build.mjs';
import { install, installed } from './install.mjs';
import { alone } from './lock.mjs';

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
  process.exitCode = 1;
}
