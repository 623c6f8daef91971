import { expect, it } from 'vitest';
import { isAllowed, packagesOf } from '../../../scripts/licences.mjs';

it.each([
  ['MIT', true],
  ['GPL-3.0-only', false],
  ['(MIT OR GPL-3.0-only)', true],
  ['GPL-2.0-only OR AGPL-3.0-only', false],
  ['Apache-2.0 AND MIT', true],
  ['MIT AND GPL-3.0-only', false],
  ['none', false],
  ['SEE LICENSE IN LICENSE', false],
])('a package under %s is allowed: %s', (licence, allowed) => {
  expect(isAllowed(licence)).toBe(allowed);
});

it('an exception holds for one package and one licence', () => {
  expect(isAllowed('CC-BY-4.0', 'caniuse-lite')).toBe(true);
  expect(isAllowed('CC-BY-4.0', 'another')).toBe(false);
  expect(isAllowed('GPL-3.0-only', 'caniuse-lite')).toBe(false);
});

it('the packages are the dependencies and the needed peers with all of theirs, and no tools of the developers', () => {
  const component = (name: string, licence?: string) => ({
    ...{ 'bom-ref': `${name}@1`, name, version: '1' },
    ...(licence ? { licenses: [{ license: { id: licence } }] } : {}),
  });
  const bom = {
    components: [
      ...[component('own', 'MIT'), component('inner', 'GPL-3.0-only'), component('peer', 'ISC')],
      ...[component('optional', 'MIT'), component('tool', 'MIT'), component('unnamed')],
    ],
    dependencies: [
      { ref: 'own@1', dependsOn: ['inner@1'] },
      { ref: 'inner@1', dependsOn: ['own@1', 'unnamed@1'] },
      { ref: 'tool@1', dependsOn: ['peer@1'] },
    ],
  };
  const found = packagesOf(bom, {
    dependencies: { own: '1' },
    peerDependencies: { peer: '1', optional: '1' },
    peerDependenciesMeta: { optional: { optional: true } },
  });
  expect(found.map(({ name, licence }: { name: string; licence: string }) => `${name} ${licence}`)).toEqual([
    ...['inner GPL-3.0-only', 'own MIT', 'peer ISC', 'unnamed none'],
  ]);
});
