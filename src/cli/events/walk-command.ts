import { eventTypes } from '../../core/events/payloads.js';
import { misspelt } from '../../core/text/nearest.js';

/**
 * Returns the arguments of the command that resumes a stream. Returns null for a stream that a client started without a start
 * time: no command can resume such a stream. `into`: null for the default warehouse.
 */
export function walkCommand(stream: string, into: string | null): readonly string[] | null {
  const [kind = '', ...rest] = stream.split(' ');
  const [range, types] = kind === 'sync' ? [null, rest[0]] : rest;
  const [from = '', until = ''] = range?.split('..') ?? [];
  if (kind !== 'sync' && from === '') return null;
  return [
    ...['events', kind],
    ...flag('--from', from),
    ...flag('--until', until),
    ...(types ?? '').split(',').flatMap((type) => flag('--type', type)),
    ...((types ?? '').split(',').some((type) => !eventTypes.includes(type) && misspelt(type, eventTypes))
      ? ['--unchecked']
      : []),
    ...flag('--into', into ?? ''),
  ];
}

function flag(name: string, value: string): string[] {
  return value === '' ? [] : [name, value];
}
