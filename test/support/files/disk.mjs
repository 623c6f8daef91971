// A disk that fails at one write. Node's file functions are replaced for the paths below one folder: each write, sync, rename, creation and
// removal is a step with a number. At the chosen step, the disk reports an error once, or the power is lost. After a power loss, `stateOf`
// makes a copy of the folder in a state that a disk may have then: contents since the last sync of their file may be missing, and changes of
// names since the last sync of their folder may be undone.
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';

const real = { ...fs };
const promises = { ...fs.promises };
const { O_CREAT, O_TRUNC, O_WRONLY, O_RDWR, O_APPEND, O_EXCL } = fs.constants;
const BLOCK = 512;
/** The contents of larger files are not remembered: they count as durable from their first sync. */
const LARGE = 524_288;

/** The error of every call after a power loss: the program does not run any more. */
export class PowerLost extends Error {
  name = 'PowerLost';
}

/** Each folder below `base` is the disk of one boot. */
let base = null;
const boots = new Map();

function bootOf(path) {
  if (base === null || typeof path !== 'string') return null;
  const absolute = resolve(path);
  if (!absolute.startsWith(`${base}/`)) return null;
  return boots.get(absolute.slice(base.length + 1).split('/')[0]) ?? null;
}

const keyOf = ({ dev, ino }) => `${dev} ${ino}`;
const statKey = (path) => keyOf(real.lstatSync(path, { bigint: true }));
const byFd = (fd) => `/proc/self/fd/${fd}`;

/** The disk of one boot: which contents and names are durable. */
export class Disk {
  steps = 0;
  /** The kind of each step. */
  kinds = [];
  /** The step that failed: its kind and path; null before. */
  failed = null;
  off = false;
  #failAt;
  #onPowerLoss;
  #error;
  #seed;
  /** Durable contents of files, by inode. The descriptor stays open so that no other file gets the inode. */
  #files = new Map();
  /** Durable entries of folders, by inode. */
  #folders = new Map();
  /** Contents that a failed sync may have dropped, by inode: a later sync does not make them durable. */
  #dropped = new Map();

  /**
   * `folder`: an existing folder below the base; its contents are durable. `failAt`: number of the failing step, from 1. `error`: whether
   * the step reports an error; otherwise the power is lost, and `onPowerLoss` is called at once. `swaps`: whether the disk can exchange two
   * names.
   */
  constructor(
    folder,
    { failAt = Number.POSITIVE_INFINITY, error = false, seed = 0, swaps = true, onPowerLoss = () => {} } = {},
  ) {
    this.folder = folder;
    this.swaps = swaps;
    this.#failAt = failAt;
    this.#error = error;
    this.#seed = seed;
    this.#onPowerLoss = onPowerLoss;
    base = dirname(folder);
    boots.set(basename(folder), this);
    this.settle();
  }

  /** Makes everything durable. */
  settle() {
    const visit = (path) => {
      if (!real.lstatSync(path).isDirectory()) return this.#keepFile(path);
      this.#keepFolder(path);
      for (const name of real.readdirSync(path)) visit(join(path, name));
    };
    visit(this.folder);
  }

  /** Changes files in a way that is no step of the program, and makes everything durable. */
  around(change) {
    if (this.off) throw new PowerLost('the power is off');
    const { steps } = this;
    const failAt = this.#failAt;
    this.#failAt = Number.POSITIVE_INFINITY;
    change();
    this.steps = steps;
    this.#failAt = failAt;
    this.settle();
  }

  /** From now on no step fails. */
  mend() {
    this.#failAt = Number.POSITIVE_INFINITY;
  }

  /** Removes the folder. Calls that are still to come fail. */
  end() {
    this.off = true;
    for (const { fd } of [...this.#files.values(), ...this.#folders.values()]) if (fd !== null) real.closeSync(fd);
    this.#files.clear();
    this.#folders.clear();
    removeTree(this.folder);
  }

  /** Counts a step. `half` does a part of the step that may have happened before the failure. */
  step(kind, path, half = () => {}) {
    if (this.off) throw new PowerLost(`${kind} ${path}`);
    this.kinds[++this.steps] = kind;
    if (this.steps !== this.#failAt) return;
    this.failed = `${kind} ${path.slice(this.folder.length + 1)}`;
    if (this.#seed % 2 === 1) half();
    if (this.#error) {
      throw Object.assign(new Error(`EIO: i/o error, ${kind} '${path}'`), { code: 'EIO', errno: -5, syscall: kind });
    }
    this.off = true;
    this.#onPowerLoss();
    throw new PowerLost(this.failed);
  }

  sync(fd, path) {
    try {
      this.step('fsync', path);
    } catch (error) {
      const key = keyOf(real.fstatSync(fd, { bigint: true }));
      if (!real.fstatSync(fd).isDirectory()) {
        const now = readWhole(byFd(fd));
        this.#hold({ key, isFolder: false }, byFd(fd));
        this.#dropped.set(key, { from: common(this.#files.get(key)?.content ?? Buffer.alloc(0), now), to: now.length });
      }
      throw error;
    }
    if (real.fstatSync(fd).isDirectory()) this.#keepFolder(byFd(fd));
    else this.#keepFile(byFd(fd));
  }

  /** Notes a write: bytes that a failed sync dropped are there again once they are written again. */
  wrote(fd, position, length) {
    if (this.#dropped.size === 0 || typeof position !== 'number') return;
    const key = keyOf(real.fstatSync(fd, { bigint: true }));
    const range = this.#dropped.get(key);
    if (range && position <= range.from) range.from = Math.max(range.from, position + length);
  }

  truncated(fd, length) {
    const range = this.#dropped.get(keyOf(real.fstatSync(fd, { bigint: true })));
    if (range) range.to = Math.min(range.to, length);
  }

  #keepFile(path) {
    const key = keyOf(real.statSync(path, { bigint: true }));
    const content = real.statSync(path).size > LARGE ? null : readWhole(path);
    const range = this.#dropped.get(key);
    if (content && range && range.from < range.to) content.fill(0, range.from, range.to);
    this.#files.set(key, { fd: this.#files.get(key)?.fd ?? real.openSync(path, 'r'), content });
  }

  #keepFolder(path) {
    const key = keyOf(real.statSync(path, { bigint: true }));
    const known = this.#folders.get(key);
    const folder = { fd: known?.fd ?? real.openSync(path, 'r'), entries: this.#namesIn(path) };
    for (const [name, entry] of folder.entries) {
      this.#hold(entry, join(path, name));
      // A rename is one step of the file system: the name in the other folder ends with it.
      for (const other of this.#folders.values()) {
        for (const [old, { key: there }] of other === known ? [] : other.entries)
          if (there === entry.key && this.#namesIn(byFd(other.fd)).get(old)?.key !== there) other.entries.delete(old);
      }
    }
    this.#folders.set(key, folder);
  }

  #hold({ key, isFolder }, path) {
    const map = isFolder ? this.#folders : this.#files;
    if (map.has(key)) return;
    const fd = real.openSync(path, 'r');
    map.set(key, isFolder ? { fd, entries: new Map() } : { fd, content: Buffer.alloc(0) });
  }

  #namesIn(path) {
    const names = new Map();
    try {
      for (const entry of real.readdirSync(path, { withFileTypes: true }))
        names.set(entry.name, { key: statKey(join(path, entry.name)), isFolder: entry.isDirectory() });
    } catch (error) {
      // A folder that was removed has no names.
      if (error.code !== 'ENOENT') throw error;
    }
    return names;
  }

  /**
   * Writes the folder to `target` in a state that it may have after a power loss now. Seed 0: nothing is there that was not synced. Seed 1
   * and 2: all names are there, and the contents that were not synced are missing or zeros. Other seeds: a random choice.
   */
  stateOf(target, seed) {
    const random = randomOf(seed);
    const changes = this.#changes();
    const done = new Map();
    const isDone = (change) => {
      const group = change.group();
      if (!done.has(group)) done.set(group, seed === 0 ? false : seed < 3 || random() < 0.5);
      return done.get(group);
    };
    const write = (key, path, to, above) => {
      if (above.includes(key)) return;
      real.mkdirSync(to, { mode: real.statSync(path).mode & 0o777 });
      const now = this.#namesIn(path);
      const durable = this.#folders.get(key)?.entries ?? new Map();
      for (const name of new Set([...durable.keys(), ...now.keys()])) {
        const change = changes.find((one) => one.folder === key && one.name === name);
        const entry = (change && !isDone(change) ? durable : now).get(name);
        if (!entry) continue;
        const held = (entry.isFolder ? this.#folders : this.#files).get(entry.key)?.fd;
        const from = held === undefined ? join(path, name) : byFd(held);
        if (entry.isFolder) write(entry.key, from, join(to, name), [...above, key]);
        else this.#writeFile(entry.key, from, join(to, name), { seed, random });
      }
    };
    write(statKey(this.folder), this.folder, target, []);
  }

  #writeFile(key, path, to, { seed, random }) {
    const now = readWhole(path);
    const durable = this.#files.has(key) ? (this.#files.get(key).content ?? now) : Buffer.alloc(0);
    let content = mixed(durable, now, seed, random);
    // No process of the time before the power loss is alive: its identity belongs to no process of this boot.
    const text = content.length < 4096 ? content.toString('latin1') : '';
    if (text.includes(`"pid":${process.pid},`))
      content = Buffer.from(text.replaceAll(`"pid":${process.pid},`, '"pid":4194303,'), 'latin1');
    writeWhole(to, content);
    real.chmodSync(to, real.statSync(path).mode & 0o777);
  }

  /** Names that differ from the durable ones. Changes that share a file belong to one rename, which is done or undone as a whole. */
  #changes() {
    const changes = [];
    const parents = new Map();
    const top = (key) => (parents.has(key) ? top(parents.get(key)) : key);
    const seen = new Set();
    const visit = (key, path) => {
      if (seen.has(key)) return;
      seen.add(key);
      const now = this.#namesIn(path);
      const durable = this.#folders.get(key)?.entries ?? new Map();
      for (const name of new Set([...durable.keys(), ...now.keys()])) {
        const [before, after] = [durable.get(name), now.get(name)];
        if (before?.key !== after?.key) {
          const [first, second] = [before ?? after, after ?? before].map((entry) => top(entry.key));
          if (first !== second) parents.set(first, second);
          changes.push({ folder: key, name, group: () => top(second) });
        }
        for (const entry of [before, after]) {
          if (!entry?.isFolder) continue;
          const held = this.#folders.get(entry.key)?.fd;
          visit(entry.key, held === undefined ? join(path, name) : byFd(held));
        }
      }
    };
    visit(statKey(this.folder), this.folder);
    return changes;
  }
}

// Node's own functions for whole files and folders would call the replaced functions.

function readWhole(path) {
  const fd = real.openSync(path, 'r');
  try {
    const content = Buffer.alloc(real.fstatSync(fd).size);
    let done = 0;
    for (let read = -1; read !== 0 && done < content.length; done += read)
      read = real.readSync(fd, content, done, content.length - done, done);
    return content.subarray(0, done);
  } finally {
    real.closeSync(fd);
  }
}

function writeWhole(path, content) {
  const fd = real.openSync(path, 'wx');
  for (let done = 0; done < content.length; ) done += real.writeSync(fd, content, done);
  real.closeSync(fd);
}

function removeTree(path) {
  for (const entry of real.readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(path, entry.name));
    else real.unlinkSync(join(path, entry.name));
  }
  real.rmdirSync(path);
}

/** Number of equal bytes at the start. */
function common(one, other) {
  let at = 0;
  const most = Math.min(one.length, other.length);
  while (at + 65_536 <= most && one.subarray(at, at + 65_536).equals(other.subarray(at, at + 65_536))) at += 65_536;
  while (at < most && one[at] === other[at]) at++;
  return at;
}

/** A content that a disk may have between the durable content and the written one. */
function mixed(durable, now, seed, random) {
  if (seed < 2 || durable.equals(now)) return durable;
  const from = common(durable, now);
  const content = Buffer.alloc(Math.max(now.length, from));
  durable.copy(content, 0, 0, Math.min(durable.length, content.length));
  if (seed === 2) return content;
  if (seed % 2 === 1) {
    const to = from + Math.floor(random() * (now.length - from + 1));
    return Buffer.concat([now.subarray(0, to), durable.subarray(to)]);
  }
  for (let at = from; at < now.length; at += BLOCK) if (random() < 0.5) now.copy(content, at, at, at + BLOCK);
  return content;
}

/** Random numbers from 0 to 1 (mulberry32). */
function randomOf(seed) {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mix = Math.imul(state ^ (state >>> 15), 1 | state);
    mix = (mix + Math.imul(mix ^ (mix >>> 7), 61 | mix)) ^ mix;
    return ((mix ^ (mix >>> 14)) >>> 0) / 4294967296;
  };
}

// The replaced functions. Only what the product uses is replaced.

/** Open descriptors of files below the base. */
const opened = new Map();
const handles = new WeakMap();

const flagNumbers = {
  r: 0,
  'r+': O_RDWR,
  w: O_WRONLY | O_CREAT | O_TRUNC,
  wx: O_WRONLY | O_CREAT | O_TRUNC | O_EXCL,
  'w+': O_RDWR | O_CREAT | O_TRUNC,
  'wx+': O_RDWR | O_CREAT | O_TRUNC | O_EXCL,
  a: O_WRONLY | O_CREAT | O_APPEND,
  'a+': O_RDWR | O_CREAT | O_APPEND,
};

/** Counts the opening of a file if it creates or empties the file. */
function opening(boot, path, flags) {
  if (boot.off) throw new PowerLost(`open ${path}`);
  const number = typeof flags === 'number' ? flags : flagNumbers[flags ?? 'r'];
  if (number === undefined) throw new Error(`unknown flag ${flags}`);
  const found = real.lstatSync(path, { throwIfNoEntry: false });
  if (found ? (number & O_TRUNC) !== 0 && (number & O_EXCL) === 0 : (number & O_CREAT) !== 0) boot.step('open', path);
}

function opens(fd, boot, path) {
  if (boot) opened.set(fd, { boot, path });
  else opened.delete(fd);
  return fd;
}

const halfOf = (data, offset = 0, length = data.length - offset) => [data, offset, Math.floor(length / 2)];
const bytesOf = (data) => (typeof data === 'string' ? Buffer.from(data) : data);

const sync = {
  openSync(path, flags, mode) {
    const boot = bootOf(path);
    if (boot) opening(boot, path, flags);
    return opens(real.openSync(path, flags, mode), boot, path);
  },
  closeSync(fd) {
    opened.delete(fd);
    real.closeSync(fd);
  },
  writeSync(fd, data, ...rest) {
    const file = opened.get(fd);
    file?.boot.step('write', file.path, () => real.writeSync(fd, ...halfOf(bytesOf(data))));
    return real.writeSync(fd, data, ...rest);
  },
  ftruncateSync(fd, length = 0) {
    const file = opened.get(fd);
    file?.boot.step('truncate', file.path);
    real.ftruncateSync(fd, length);
  },
  fsyncSync(fd) {
    const file = opened.get(fd);
    if (file) file.boot.sync(fd, file.path);
    else real.fsyncSync(fd);
  },
  writeFileSync(path, data, options = {}) {
    if (!bootOf(path)) return real.writeFileSync(path, data, options);
    const { flag = 'w', mode = 0o666 } = typeof options === 'string' ? {} : options;
    const fd = sync.openSync(path, flag, mode);
    try {
      sync.writeSync(fd, bytesOf(data));
    } finally {
      sync.closeSync(fd);
    }
  },
  renameSync(from, to) {
    bootOf(to)?.step('rename', to);
    real.renameSync(from, to);
  },
  unlinkSync(path) {
    bootOf(path)?.step('unlink', path);
    real.unlinkSync(path);
  },
  rmdirSync(path) {
    bootOf(path)?.step('rmdir', path);
    real.rmdirSync(path);
  },
  rmSync(path, options = {}) {
    const boot = bootOf(path);
    if (!boot) return real.rmSync(path, options);
    if (boot.off) throw new PowerLost(`rm ${path}`);
    const found = real.lstatSync(path, { throwIfNoEntry: false });
    if (!found && options.force) return;
    if (!found?.isDirectory()) return sync.unlinkSync(path);
    for (const name of real.readdirSync(path)) sync.rmSync(join(path, name), options);
    sync.rmdirSync(path);
  },
  mkdirSync(path, options = {}) {
    const boot = bootOf(path);
    if (!boot) return real.mkdirSync(path, options);
    const { recursive = false, mode } = options;
    if (recursive && real.existsSync(path)) return undefined;
    const first = recursive ? sync.mkdirSync(dirname(path), options) : undefined;
    boot.step('mkdir', path);
    real.mkdirSync(path, { mode });
    return recursive ? (first ?? path) : undefined;
  },
};
sync.fdatasyncSync = sync.fsyncSync;

/** Functions with a callback, as write streams use them. */
const withCallback = {
  open(path, ...rest) {
    const done = rest.pop();
    const [flags, mode] = rest;
    let boot;
    try {
      boot = bootOf(path);
      if (boot) opening(boot, path, flags);
    } catch (error) {
      return void process.nextTick(done, error);
    }
    real.open(path, ...(rest.length > 1 ? [flags, mode] : rest), (error, fd) =>
      done(error, error ? undefined : opens(fd, boot, path)),
    );
  },
  close(fd, done) {
    opened.delete(fd);
    real.close(fd, done);
  },
};
const stepBefore = (name, step) => {
  withCallback[name] = (fd, ...rest) => {
    const file = opened.get(fd);
    try {
      if (file) step(file, fd, ...rest);
    } catch (error) {
      return void process.nextTick(rest.at(-1), error);
    }
    real[name](fd, ...rest);
  };
};
stepBefore('write', ({ boot, path }, fd, data) =>
  boot.step('write', path, () => real.writeSync(fd, ...halfOf(bytesOf(data)))),
);
stepBefore('writev', ({ boot, path }, fd, [first]) =>
  boot.step('write', path, () => real.writeSync(fd, ...halfOf(first))),
);
stepBefore('fsync', ({ boot, path }, fd) => boot.sync(fd, path));

const async = {
  async open(path, flags, mode) {
    const boot = bootOf(path);
    if (boot) opening(boot, path, flags);
    const handle = await promises.open(path, flags, mode);
    if (boot) handles.set(handle, { boot, path });
    return handle;
  },
  async writeFile(path, data, options) {
    return bootOf(path) ? sync.writeFileSync(path, data, options) : promises.writeFile(path, data, options);
  },
};
for (const name of ['rename', 'unlink', 'rmdir', 'rm', 'mkdir'])
  async[name] = async (path, ...rest) =>
    bootOf(path) ? sync[`${name}Sync`](path, ...rest) : promises[name](path, ...rest);

/** Paths in a folder that is held open, with the name of the folder. */
const unheld = (given) =>
  typeof given === 'string'
    ? given.replace(/^\/proc\/(?:self|\d+)\/fd\/\d+(?=\/|$)/, (link) => real.readlinkSync(link))
    : given;
const named = (functions) =>
  Object.fromEntries(Object.entries(functions).map(([name, run]) => [name, (...given) => run(...given.map(unheld))]));

/** Replaces the functions; modules that were imported before use the new functions too. */
export async function replaceFileFunctions() {
  Object.assign(fs, named(sync), named(withCallback));
  Object.assign(fs.promises, named(async));
  const handle = await promises.open('/dev/null');
  const methods = Object.getPrototypeOf(handle);
  await handle.close();
  const before = (name, step) => {
    const method = methods[name];
    methods[name] = async function (...args) {
      const file = handles.get(this);
      return (
        (file && (await step.call(this, file, () => method.apply(this, args), ...args))) ?? method.apply(this, args)
      );
    };
  };
  before('write', async function ({ boot, path }, write, data, offset, length, position) {
    const half = () => real.writeSync(this.fd, ...halfOf(bytesOf(data), offset, length), position);
    boot.step('write', path, half);
    const written = await write();
    boot.wrote(this.fd, position, written.bytesWritten);
    return written;
  });
  before('writev', async function ({ boot, path }, write, pieces, position) {
    boot.step('write', path, () => real.writeSync(this.fd, ...halfOf(pieces[0]), position));
    const written = await write();
    boot.wrote(this.fd, position, written.bytesWritten);
    return written;
  });
  before('writeFile', async function ({ boot, path }, write, data) {
    boot.step('write', path, () => real.writeSync(this.fd, ...halfOf(bytesOf(data))));
    await write();
    return true;
  });
  before('truncate', async function ({ boot, path }, truncate, length = 0) {
    // Emptying to the length that the file has is no change.
    boot.step('truncate', path);
    await truncate();
    boot.truncated(this.fd, length);
    return true;
  });
  for (const name of ['sync', 'datasync'])
    before(name, async function ({ boot, path }) {
      boot.sync(this.fd, path);
      return true;
    });
  const native = createRequire(new URL('../../../dist/', import.meta.url))('fs-native-extensions');
  const { swap } = native;
  native.swap = async (from, to) => {
    const boot = bootOf(unheld(to));
    if (boot && !boot.swaps) throw Object.assign(new Error('ENOTSUP: not supported'), { code: 'ENOTSUP' });
    boot?.step('swap', unheld(to));
    return swap(from, to);
  };
  syncBuiltinESMExports();
}
