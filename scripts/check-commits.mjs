// Checks the subjects of the commits since the rule began: at most 72 characters, `area: verb …` in the imperative. Ends with 1
// and lists each commit that breaks it.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Start of the rule, in Unix seconds. A commit id would not work in a shallow clone. */
const BEGAN_SECONDS = 1795363693;
const MOST = 72;
/** Imperatives that end like a participle or a third person. */
const verbs = new Set([
  ...['bring', 'embed', 'feed', 'need', 'proceed', 'seed', 'shed', 'speed', 'spring', 'string', 'wed'],
  ...[
    'address',
    'bypass',
    'compress',
    'cross',
    'discuss',
    'dismiss',
    'express',
    'focus',
    'guess',
    'pass',
    'press',
    'process',
    'stress',
  ],
]);
const notVerbs = new Set(['a', 'an', 'its', 'no', 'now', 'the', 'this', 'these', 'that', 'more', 'less', 'also']);

/** Reason why a subject is refused, or null. */
export function whyRefused(subject) {
  if (subject.length > MOST) return `has ${subject.length} characters, ${MOST} are allowed`;
  const [, verb] = /^[a-z][a-z0-9 /.,-]*: ([a-z]+)(?: |$)/.exec(subject) ?? [];
  if (verb === undefined) return 'is not "area: verb …"';
  if (notVerbs.has(verb) || (/(ed|ing|s)$/.test(verb) && !verbs.has(verb)))
    return `begins with "${verb}", not with an imperative`;
  return null;
}

/** Runs git in this folder, with any owner: another user may have made the checkout. */
function git(...args) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  return execFileSync('git', ['-c', 'safe.directory=*', ...args], { encoding: 'utf8', cwd: root, stdio: 'pipe' });
}

/** Leaves out first commits: the first commit of a snapshot has a subject by the maker of the snapshot. */
function subjects() {
  return git('log', '--min-parents=1', '--max-parents=1', '--format=%h%x09%ct%x09%s')
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'))
    .filter(([, seconds]) => Number(seconds) > BEGAN_SECONDS)
    .map(([hash, , ...subject]) => ({ hash, subject: subject.join('\t') }));
}

/** Returns no subjects where git cannot read a history, as in a source archive. */
function readSubjects() {
  try {
    return subjects();
  } catch (error) {
    console.error(`No commit subjects to check: ${String(error.stderr || error.message).trim()}`);
    return [];
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wrong = readSubjects().flatMap((commit) => {
    const why = whyRefused(commit.subject);
    return why === null ? [] : [`${commit.hash} "${commit.subject}": ${why}`];
  });
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
}
