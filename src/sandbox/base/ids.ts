import { hashText, mix } from './hash.js';

/**
 * Makes ids that look random but follow from seed, start and order. Two starts with one purchase log file never make the same
 * id.
 */
export type NextId = () => string;

/** `starts`: number of earlier openings of the purchase log file. Returns 32 hexadecimal digits. */
export function idsOf(seed: number, starts: number, kind = ''): NextId {
  const base = hashText(`start ${starts}${kind}`, seed);
  let serial = 0;
  return () => {
    serial += 1;
    return (
      [1, 2, 3].map((salt) => mix(mix(base, salt), serial).toString(16).padStart(8, '0')).join('') +
      serial.toString(16).padStart(8, '0')
    );
  };
}

/** 32 hexadecimal digits in the form of a UUID. */
export function toUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
}
