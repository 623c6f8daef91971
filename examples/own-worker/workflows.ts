// A plugin cannot contain workflows, so this line adds those of searchflow to your own.
export * from 'searchflow/workflows';

/** A workflow of your own. */
export async function greet(name: string): Promise<string> {
  return `Hello, ${name}!`;
}
