import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Secret } from '../../core/connections/secret.js';
import { type SecretStore, SecretStoreUnusable } from '../../core/connections/secret-store.js';
import { Serial } from '../../core/processes/serial.js';
import { shellWord } from '../../core/text/shell-word.js';
import { inFolder, openedPath } from '../../files/open-path.js';
import { withLock } from '../../files/process-lock.js';
import { realPath } from '../../files/same-file.js';
import { removeDrafts, writeDurably } from '../../files/write-durably.js';

/** Longest wait for another process that writes the same file. */
const LOCK_MS = 10_000;

/**
 * Secrets in one JSON file of mode 0600. Each change replaces the whole file under a lock, so a crash leaves the old file or the new one. The
 * file of the lock is removed afterwards, also where the secret file is refused. A file that other users may read is refused and not
 * repaired, because other users may have read the secrets already.
 */
export class FileSecrets implements SecretStore {
  /** Path of the file, whose folder is a real path. */
  readonly file: string;
  /** Serializes the changes of this process; the lock excludes other processes. */
  readonly #changes = new Serial();

  /** The first secret creates `file`; missing folders get mode 0700. */
  constructor(file: string) {
    this.file = join(realPath(dirname(resolve(file))), basename(file));
  }

  async put(name: string, secret: Secret): Promise<void> {
    await this.#change((secrets) => {
      secrets.set(name, secret.reveal());
    });
  }

  async get(name: string): Promise<Secret | null> {
    const value = (await this.#read()).get(name);
    return value === undefined ? null : new Secret(value);
  }

  async remove(name: string): Promise<boolean> {
    let found = false;
    await this.#change((secrets) => {
      found = secrets.delete(name);
    });
    return found;
  }

  async names(): Promise<readonly string[]> {
    return [...(await this.#read()).keys()].sort();
  }

  #change(edit: (secrets: Map<string, string>) => void): Promise<void> {
    const { file } = this;
    const wait = { waitMs: LOCK_MS, passing: true, what: `${file}.lock` };
    const change = (held: string) =>
      withLock(
        `${held}.lock`,
        async () => {
          const secrets = await this.#read();
          edit(secrets);
          // Drafts of a crashed process may contain secrets that were removed later.
          await removeDrafts(held);
          await writeDurably(held, `${JSON.stringify({ v: 1, secrets: Object.fromEntries(secrets) }, null, 2)}\n`);
        },
        wait,
      );
    return this.#changes.run(() => inFolder(dirname(file), (held) => change(join(held, basename(file))), 0o700));
  }

  async #read(): Promise<Map<string, string>> {
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    // Without O_NONBLOCK, opening a named pipe would wait for a writer and keep one of the few threads for files.
    const handle = await open(this.file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      if (error.code === 'ELOOP')
        throw new SecretStoreUnusable(
          'secret-file-unusable',
          `the secret file ${this.file} is a link. Name the file itself`,
        );
      throw new SecretStoreUnusable(
        'secret-file-unusable',
        `the secret file ${this.file} cannot be read [${error.code ?? error.name}]`,
      );
    });
    if (handle === null) return new Map();
    try {
      const stats = await handle.stat();
      if (![this.file, null].includes(openedPath(handle.fd, this.file)))
        throw new SecretStoreUnusable('secret-file-unusable', `the folder of ${this.file} was replaced by a link`);
      if (!stats.isFile())
        throw new SecretStoreUnusable('secret-file-unusable', `the secret file ${this.file} is not a regular file`);
      const { mode } = stats;
      if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
        const found = (mode & 0o777).toString(8);
        throw new SecretStoreUnusable(
          'secret-file-unusable',
          `the secret file ${this.file} has mode ${found}, so other users may read it. Run: chmod 600 ${shellWord(this.file)}`,
        );
      }
      return parse(await handle.readFile('utf8'), this.file);
    } finally {
      await handle.close();
    }
  }
}

/** Parses the file. Errors never quote its contents. */
function parse(text: string, file: string): Map<string, string> {
  const damaged = new SecretStoreUnusable(
    'secret-file-unusable',
    `the secret file ${file} is damaged. Move it away or restore it`,
  );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged;
  }
  const secrets: unknown =
    typeof value === 'object' && value !== null && 'secrets' in value ? value.secrets : undefined;
  if (typeof secrets !== 'object' || secrets === null || Array.isArray(secrets)) throw damaged;
  const entries = Object.entries(secrets).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  if (entries.length !== Object.keys(secrets).length) throw damaged;
  return new Map(entries);
}
