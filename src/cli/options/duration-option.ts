const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `90m`, `12h`, `30d`, `2w` in milliseconds; null for what is no duration. A bare number has no unit to guess. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,6})(s|m|h|d|w)$/.exec(text.trim());
  return match ? Number(match[1]) * (unitMs[match[2] as string] as number) : null;
}
