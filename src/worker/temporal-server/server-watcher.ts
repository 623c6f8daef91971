// Program of the watcher, a detached Node process that `keepWatcher` starts from the compiled file.
// Arguments: state directory, linger in milliseconds, file descriptor of the inherited lock or `none`.
import { serverFiles } from './server-files.js';
import { watchServer } from './server-watch.js';

const [stateDir, linger, lockFd] = process.argv.slice(2);
// A closed terminal, or a Ctrl-C for the command, must not end the watcher.
for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, () => undefined);
await watchServer({
  files: serverFiles(stateDir as string),
  lingerMs: Number(linger),
  lockFd: lockFd === 'none' ? null : Number(lockFd),
  env: process.env,
});
