import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { commandOutputs, outputSchema } from '../../../src/api/command-outputs.js';
import { buildProgram } from '../../../src/cli/program.js';

const program = buildProgram('0.0.0', () => undefined);
const ajv = new Ajv2020({ strict: false });
const validators = new Map<string, ValidateFunction>();

/** The words of the command of a command line, such as `events sync`. */
export function commandOf(words: readonly string[]): string {
  let command = program;
  const path: string[] = [];
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined && !word.startsWith('-')) break;
    if (next === undefined) continue;
    path.push(word);
    command = next;
  }
  return path.join(' ');
}

/**
 * Throws if a line of the output of `--json` does not fit the schema of its command. A field that the schema does not have does not fit,
 * so that each field is in the JSON Schema of the package.
 */
export function checkOutput(words: readonly string[], output: string): void {
  if (!words.includes('--json') || output.trim() === '') return;
  const command = commandOf(words);
  const schema = commandOutputs[command];
  if (schema === undefined)
    throw new Error(`\`${command} --json\` has no schema. Add it to commandOutputs in src/api/command-outputs.ts.`);
  const validate = validators.get(command) ?? ajv.compile(outputSchema(command, schema, true));
  validators.set(command, validate);
  for (const line of output.trim().split('\n')) {
    if (validate(JSON.parse(line))) continue;
    throw new Error(
      `The output of \`${command} --json\` does not fit its schema in src/api/command-outputs.ts: ${JSON.stringify(validate.errors)}\n${line}`,
    );
  }
}
