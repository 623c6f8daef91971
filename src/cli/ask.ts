import type { Context } from './context.js';

/** Asks a question that is no by default. Never called where nobody can answer: see `Terminal.asks`. */
export async function askYesNo(context: Context, question: string): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  const { stdin, stderr } = context.terminal.streams();
  // Anything but a clear yes, such as Ctrl-C, is a no.
  return (await confirm({ message: question, initialValue: false, input: stdin, output: stderr })) === true;
}
