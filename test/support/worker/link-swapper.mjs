import { linkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';

// Gives each name, again and again, to a good file or folder and to a link out of the folder. The second argument: longest pause between, in ms.
const swaps = JSON.parse(process.argv[2]);
const pause = Number(process.argv[3] ?? 0);
const clock = new Int32Array(new SharedArrayBuffer(4));
const parent = process.ppid;
for (let turn = 0; process.ppid === parent; turn++) {
  for (const swap of swaps) {
    try {
      exchange(swap, turn % 2 === 0);
    } catch {
      // A program made a file of this name in the meantime.
    }
  }
  if (pause > 0) Atomics.wait(clock, 0, 0, Math.random() ** 3 * pause);
}

function exchange({ name, good, bad, hard }, isBad) {
  if (good !== null) {
    const draft = `${name}.swap`;
    if (isBad) symlinkSync(bad, draft);
    else if (hard) linkSync(good, draft);
    else symlinkSync(good, draft);
    return renameSync(draft, name);
  }
  if (isBad) {
    renameSync(name, `${name}.away`);
    return symlinkSync(bad, name);
  }
  unlinkSync(name);
  renameSync(`${name}.away`, name);
}
