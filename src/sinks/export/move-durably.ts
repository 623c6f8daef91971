import { open, rename, stat } from 'node:fs/promises';

/** Puts a file that is written in its place, on the disk before it is there; answers with its size in bytes. */
export async function moveDurably(from: string, to: string): Promise<number> {
  const file = await open(from, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(from, to);
  return (await stat(to)).size;
}
