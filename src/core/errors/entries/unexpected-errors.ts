import type { ErrorEntries } from '../entry.js';

export const unexpectedErrors = {
  interrupted: {
    title: 'The command was ended while it started work',
    happened: 'The command or worker was asked to end before its work had begun.',
    why: 'Ctrl-C, SIGTERM, or the end of the terminal.',
    fix: 'Run the same command again.',
    exits: ['failed'],
    cost: 'kept',
    retry: 'later',
  },
  unexpected: {
    title: 'An error that searchflow does not know',
    happened: 'A part of searchflow, of a library or of the system failed in a way that has no entry here.',
    why: 'This may be a defect of searchflow.',
    fix: 'Run the same command again. If the error comes again, report it with the version, the message and the stack; remove what is private.',
    command: 'SEARCHFLOW_DEBUG=1 searchflow COMMAND',
    exits: ['failed'],
    cost: 'kept',
    retry: 'later',
  },
} as const satisfies ErrorEntries;
