// Plugins cannot ship workflows: this line adds those of searchflow to your own.
export * from 'searchflow/workflows';

/** A workflow of your own beside them. */
export async function greet(name: string): Promise<string> {
  return `Hello, ${name}!`;
}
