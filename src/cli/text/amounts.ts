export { count, some } from '../../core/text/count.js';
export { dollars } from '../../core/text/money.js';

/** Returns seconds as text, such as `4 s`, `3 min 20 s`, `2 h 5 min` or `3 d 4 h`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'an unknown time';
  if (seconds < 10) return `${Math.max(0, Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const units = [
    [86_400, 'd', 3600, 'h'],
    [3600, 'h', 60, 'min'],
    [60, 'min', 1, 's'],
  ] as const;
  for (const [size, name, smaller, smallerName] of units) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / smaller);
    return rest === 0
      ? `${Math.floor(whole / size)} ${name}`
      : `${Math.floor(whole / size)} ${name} ${rest} ${smallerName}`;
  }
  return `${whole} s`;
}
