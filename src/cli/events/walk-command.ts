import { meantType } from './event-flags.js';

/**
 * Returns the arguments of the command that resumes a stream. Returns null for a stream that a client started without a start
 * time: no command can resume such a stream. `into`: null for the default warehouse.
 */
export function walkCommand(stream: string, into: string | null): readonly string[] | null {
  const [kind = '', ...rest] = stream.split(' ');
  const [range, types] = kind === 'sync' ? [null, rest[0]] : rest;
  const [from = '', until = ''] = range?.split('..') ?? [];
  if (kind !== 'sync' && from === '') return null;
  const given = (types ?? '').split(',');
  return [
    ...['events', kind],
    ...flag('--from', from),
    ...flag('--until', until),
    ...given.flatMap((type) => flag('--type', type)),
    ...(given.some((type) => meantType(type) !== null) ? ['--unchecked'] : []),
    ...flag('--into', into ?? ''),
  ];
}

function flag(name: string, value: string): string[] {
  return value === '' ? [] : [name, value];
}
