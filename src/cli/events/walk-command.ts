/**
 * Arguments of the command that makes a stream go on; null where no flags say the same, because a client of its own began it at the
 * beginning of everything. `into`: null for the usual warehouse.
 */
export function walkCommand(stream: string, into: string | null): readonly string[] | null {
  const [kind = '', ...rest] = stream.split(' ');
  const [stretch, types] = kind === 'sync' ? [null, rest[0]] : rest;
  const [from = '', until = ''] = stretch?.split('..') ?? [];
  if (kind !== 'sync' && from === '') return null;
  return [
    ...['events', kind],
    ...flag('--from', from),
    ...flag('--until', until),
    ...(types ?? '').split(',').flatMap((type) => flag('--type', type)),
    ...flag('--into', into ?? ''),
  ];
}

function flag(name: string, value: string): string[] {
  return value === '' ? [] : [name, value];
}
