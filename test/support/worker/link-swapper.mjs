import { linkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';

// Gives each name, again and again, to a good file or folder and to a link out of the folder.
const swaps = JSON.parse(process.argv[2]);
const parent = process.ppid;
for (let turn = 0; process.ppid === parent; turn++) {
  for (const swap of swaps) {
    try {
      exchange(swap, turn % 2 === 0);
    } catch {
      // A program made a file of this name in the meantime.
    }
  }
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
