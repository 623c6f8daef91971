// The links of a built site that lead nowhere: to a file that is not there, or to an anchor that its page does not have.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const decoded = (text) => decodeURIComponent(text.replaceAll('&amp;', '&'));
const all = (text, pattern) => [...text.matchAll(pattern)].map(([, found]) => found);

/** The links of a page or of its Markdown twin. Code of a twin has no links. */
const linksOf = {
  html: (text) => all(text, /<a [^>]*?href="([^"]+)"/g),
  md: (text) => all(text.replace(/^```.*?^```|`[^`\n]*`/gms, ''), /\]\(([^)\s]+)\)/g),
};

/** The file of an address within the site, also without its `.html`; undefined if there is none. */
function fileOf(site, path) {
  const files = path === '' || path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`];
  return files.find((file) => existsSync(join(site, file)));
}

/** Each broken link of the pages and twins below `site`, as `page: link`. */
export function brokenLinks(site) {
  const names = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(html|md)$/.test(name));
  const texts = new Map(names.map((name) => [name, readFileSync(join(site, name), 'utf8')]));
  const anchors = new Map();
  for (const [name, text] of texts)
    if (name.endsWith('.html')) anchors.set(name, new Set(all(text, / id="([^"]+)"/g).map(decoded)));
  const leads = (from, href) => {
    const { pathname, hash } = new URL(href, `http://site/${from}`);
    const file = fileOf(site, decoded(pathname.slice(1)));
    return file !== undefined && (hash === '' || !anchors.has(file) || anchors.get(file).has(decoded(hash.slice(1))));
  };
  const broken = [...texts].flatMap(([name, text]) =>
    linksOf[name.endsWith('.md') ? 'md' : 'html'](text)
      .filter((href) => !/^(\w+:|\/\/)/.test(href) && !leads(name, href))
      .map((href) => `${name}: ${href}`),
  );
  return [...new Set(broken)];
}
