import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Secret } from '../../core/text/secret.js';
import { type SecretStore, SecretStoreUnusable } from '../../core/text/secret-store.js';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { removeDrafts, writeDurably } from '../../files/write-durably.js';

/** What a process waits for another one that writes the same file. */
const LOCK_MS = 10_000;

/**
 * Secrets in one JSON file of mode 0600, replaced as a whole by each change: a crash leaves the old file or the new one.
 * Processes take turns. A file that others may read is refused, never repaired: it may have been read already.
 */
export class FileSecrets implements SecretStore {
  readonly #file: string;
  /** One change at a time in this process; the lock keeps the others out. */
  #last: Promise<unknown> = Promise.resolve();

  /** `file` is made with the first secret; folders that are missing get mode 0700. */
  constructor(file: string) {
    this.#file = resolve(file);
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
    const change = async (): Promise<void> => {
      const secrets = await this.#read();
      edit(secrets);
      await this.#write(secrets);
    };
    const run = (): Promise<void> => withLock(`${this.#file}.lock`, change, { waitMs: LOCK_MS });
    const next = this.#last.then(run, run);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #read(): Promise<Map<string, string>> {
    const { O_RDONLY, O_NOFOLLOW = 0 } = constants;
    const handle = await open(this.#file, O_RDONLY | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      if (error.code === 'ELOOP')
        throw new SecretStoreUnusable(`the secret file ${this.#file} is a link: name the file itself`);
      throw new SecretStoreUnusable(`the secret file ${this.#file} can't be read [${error.code ?? error.name}]`);
    });
    if (handle === null) return new Map();
    try {
      const { mode } = await handle.stat();
      if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
        const found = (mode & 0o777).toString(8);
        throw new SecretStoreUnusable(
          `the secret file ${this.#file} has mode ${found}, so others may read it: run chmod 600 on it`,
        );
      }
      return parse(await handle.readFile('utf8'), this.#file);
    } finally {
      await handle.close();
    }
  }

  async #write(secrets: ReadonlyMap<string, string>): Promise<void> {
    makeFolder(dirname(this.#file));
    // What a crash left would keep secrets that were removed since; the lock keeps other writers out.
    await removeDrafts(this.#file);
    await writeDurably(this.#file, `${JSON.stringify({ v: 1, secrets: Object.fromEntries(secrets) }, null, 2)}\n`);
  }
}

/** Never says what the file holds, however damaged. */
function parse(text: string, file: string): Map<string, string> {
  const damaged = new SecretStoreUnusable(`the secret file ${file} is damaged: move it away or restore it`);
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
