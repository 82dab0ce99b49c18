/** A part of a text: plain, a placeholder `{{ }}`, or a tag `{% %}`. */
export interface Piece {
  kind: 'text' | 'output' | 'tag';
  text: string;
}

const IN_WORD = /[A-Za-z0-9_\u0080-\uffff]/;

/** Where what begins at `from` ends; -1 when it is not closed. Quotes hold whatever stands in them. */
function endOf(text: string, from: number, end: string): number {
  let quote = '';
  for (let at = from; at < text.length; at += 1) {
    const letter = text.charAt(at);
    if (quote) {
      if (letter === quote) quote = '';
    } else if (text.startsWith(end, at)) {
      return at + end.length;
    } else if ((letter === '"' || letter === "'") && !(at > from && IN_WORD.test(text.charAt(at - 1)))) {
      quote = letter;
    }
  }
  // a quote that is never closed is an apostrophe
  const plain = text.indexOf(end, from);
  return plain < 0 ? -1 : plain + end.length;
}

/** The parts of a text, which together are the text. What is not closed is plain. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let plain = 0;
  let at = 0;
  for (;;) {
    const next = /\{\{|\{%/.exec(text.slice(at));
    if (!next) break;
    const start = at + next.index;
    const isTag = next[0] === '{%';
    const isRaw = !isTag && text.startsWith('{{{', start);
    const end = endOf(text, start + (isRaw ? 3 : 2), isTag ? '%}' : isRaw ? '}}}' : '}}');
    if (end < 0) {
      at = start + 2;
      continue;
    }
    if (start > plain) found.push({ kind: 'text', text: text.slice(plain, start) });
    found.push({ kind: isTag ? 'tag' : 'output', text: text.slice(start, end) });
    plain = end;
    at = end;
  }
  if (plain < text.length) found.push({ kind: 'text', text: text.slice(plain) });
  return found;
}

/** Whether a text is one placeholder and nothing else. */
export function isPlaceholder(text: string): boolean {
  const found = pieces(text);
  return found.length === 1 && found[0]?.kind === 'output';
}

const PATH = /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*|\.\d+|\[-?\d+\])*$/;

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  if (!line.includes('"')) return `"${line}"`;
  return line.includes("'") ? `"${line.replaceAll('"', '”')}"` : `'${line}'`;
}

/** The way to a value: its name, or the bracketed form for names with other signs. */
export function pathTo(name: string): string {
  return PATH.test(name) ? name : `data[${quoted(name)}]`;
}

/** The placeholder of a value: `{{name ?? "friend"}}`. */
export function placeholder(name: string, fallback = ''): string {
  return fallback === '' ? `{{${pathTo(name)}}}` : `{{${pathTo(name)} ?? ${quoted(fallback)}}}`;
}

/** What a placeholder says, where it is simple enough to be edited in fields: no filters, no raw output. */
export function readPlaceholder(source: string): { name: string; fallback: string } | undefined {
  const simple = /^\{\{\s*([A-Za-z_][\w.[\]-]*|data\["[^"]*"\]|data\['[^']*'\])\s*(?:\?\?\s*(?:"([^"]*)"|'([^']*)'))?\s*\}\}$/.exec(
    source,
  );
  if (!simple) return undefined;
  const [, path = '', double, single] = simple;
  const bracketed = /^data\[["'](.*)["']\]$/.exec(path);
  return { name: bracketed?.[1] ?? path, fallback: double ?? single ?? '' };
}

/** What is shown of a placeholder: what stands between its braces. */
export function labelOf(source: string): string {
  return source.replace(/^\{+\s*/, '').replace(/\s*\}+$/, '');
}

/** An expression in one line, without what would end the tag that it is put in. */
export function expression(text: string): string {
  return text.replaceAll(/\{%-?|-?%\}|\{\{|\}\}/g, '').replaceAll(/\s+/g, ' ').trim();
}
